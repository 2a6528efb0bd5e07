import { CopyButton } from "./copy-button";
import { Sql } from "./sql";
import { Badge } from "./ui/badge";
import { Card } from "./ui/card";

export function QueryCard({ sql, inputs }: { sql: string; inputs: string[] }) {
  return (
    <Card>
      <div className="flex items-center gap-2 border-b px-5 py-2 text-sm text-muted-foreground">
        reads
        {inputs.map((i) => (
          <Badge key={i}>{i}</Badge>
        ))}
        <div className="ml-auto">
          <CopyButton text={sql} label="Copy the query" />
        </div>
      </div>
      <Sql sql={sql} className="p-5" />
    </Card>
  );
}
