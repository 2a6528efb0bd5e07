import { Fragment } from "react";
import { cn } from "@/lib/cn";
import { layout, type TokenKind, tokenize } from "@/lib/sql";

const colors: Record<TokenKind, string> = {
  keyword: "text-[var(--sql-keyword)] font-medium",
  function: "text-[var(--sql-function)]",
  string: "text-[var(--sql-string)]",
  number: "text-[var(--sql-number)]",
  comment: "text-muted-foreground italic",
  text: "",
};

export function Sql({ sql, className }: { sql: string; className?: string }) {
  return (
    <pre className={cn("overflow-x-auto font-mono text-[0.84rem] leading-6 whitespace-pre-wrap", className)}>
      <code>
        {tokenize(layout(sql)).map((t, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
          <Fragment key={i}>{t.kind === "text" ? t.text : <span className={colors[t.kind]}>{t.text}</span>}</Fragment>
        ))}
      </code>
    </pre>
  );
}
