import { Link } from "@tanstack/react-router";
import { SquarePen } from "lucide-react";
import { mayEdit, useSession } from "@/lib/session";
import { CopyButton } from "./copy-button";
import { Sql } from "./sql";
import { Badge } from "./ui/badge";
import { Button } from "./ui/button";
import { Card } from "./ui/card";

interface QueryCardProps {
  sql: string;
  inputs: string[];
  /** Where the statement is edited. */
  kind: "tables" | "pipelines";
  id: string;
}

export function QueryCard({ sql, inputs, kind, id }: QueryCardProps) {
  const editable = mayEdit(useSession());
  return (
    <Card>
      <div className="flex items-center gap-2 border-b px-5 py-2 text-sm text-muted-foreground">
        reads
        {inputs.map((i) => (
          <Badge key={i}>{i}</Badge>
        ))}
        <div className="ml-auto flex items-center gap-1">
          {editable && (
            <Button variant="ghost" size="sm" asChild>
              <Link to={kind === "tables" ? "/tables/$key/edit" : "/pipelines/$key/edit"} params={{ key: id }}>
                <SquarePen /> Edit SQL
              </Link>
            </Button>
          )}
          <CopyButton text={sql} label="Copy the query" />
        </div>
      </div>
      <Sql sql={sql} className="p-5" />
    </Card>
  );
}
