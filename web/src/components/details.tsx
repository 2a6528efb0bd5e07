import { CopyButton } from "./copy-button";
import { Card } from "./ui/card";

/** A definition as the server stores it. */
export function Details({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <Card className="relative">
      <div className="absolute top-2.5 right-2.5">
        <CopyButton text={text} label="Copy the definition" />
      </div>
      <pre className="max-h-[70vh] overflow-auto p-5 font-mono text-xs leading-5">{text}</pre>
    </Card>
  );
}
