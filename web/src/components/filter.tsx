import { Search } from "lucide-react";
import { cn } from "@/lib/cn";
import { Input } from "./ui/input";
import { Kbd } from "./ui/kbd";

export function Filter({
  value,
  onChange,
  label,
  className,
}: {
  value: string;
  onChange: (value: string) => void;
  label: string;
  className?: string;
}) {
  return (
    <div className={cn("relative w-64 max-w-full", className)}>
      <Search aria-hidden className="absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted-foreground" />
      <Input
        data-filter
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(e) => onChange(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            onChange("");
            e.currentTarget.blur();
          }
        }}
        className="pr-9 pl-9 [&::-webkit-search-cancel-button]:hidden"
      />
      <span className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2">
        <Kbd>/</Kbd>
      </span>
    </div>
  );
}
