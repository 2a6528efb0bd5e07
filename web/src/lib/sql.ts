// Colours only: the grammar lives in the server, which says what is valid.

export type TokenKind = "keyword" | "function" | "string" | "number" | "comment" | "text";

export interface Token {
  kind: TokenKind;
  text: string;
}

const keywords = new Set(
  `ADVANCE ALL ALLOWED AND AS ASC ASOF BETWEEN BY CASE CAST CHANGES CROSS CUBE CURRENT DESC DISTINCT ELSE EMIT END ESCAPE EXCEPT EXISTS FALSE
  FILTER FINAL FOLLOWING FROM FULL GAP GROUP GROUPING HAVING HOPPING HOUR HOURS ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATENESS
  LATERAL LATEST LEFT LIKE LIMIT MILLISECOND MILLISECONDS MINUTE MINUTES NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING
  RANGE RECURSIVE RIGHT ROLLUP ROWS SECOND SECONDS SELECT SESSION SETS SIZE THEN TRUE TUMBLING UNBOUNDED UNION UNNEST USING WHEN WHERE WINDOW
  WITH WITHIN`.split(/\s+/),
);

export function isKeyword(word: string): boolean {
  return keywords.has(word.toUpperCase());
}

const pattern =
  /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^']|'')*'?)|(\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([A-Za-z_][A-Za-z0-9_]*)|(\s+|.)/g;

export function tokenize(sql: string): Token[] {
  const out: Token[] = [];
  for (const m of sql.matchAll(pattern)) {
    const [text, comment, string, number, word] = m;
    let kind: TokenKind = "text";
    if (comment !== undefined) {
      kind = "comment";
    } else if (string !== undefined) {
      kind = "string";
    } else if (number !== undefined) {
      kind = "number";
    } else if (word !== undefined) {
      const next = sql.slice((m.index ?? 0) + text.length).trimStart();
      kind = isKeyword(word) ? "keyword" : next.startsWith("(") ? "function" : "text";
    }
    const last = out.at(-1);
    if (last && last.kind === kind && kind === "text") {
      last.text += text;
    } else {
      out.push({ kind, text });
    }
  }
  return out;
}

const clauses = /^(FROM|WHERE|GROUP|HAVING|WINDOW|ORDER|LIMIT|LATEST|UNION|JOIN|LEFT|RIGHT|FULL|INNER|CROSS|SEMI|ANTI|SELECT)$/i;
const joinWords = /^(LEFT|RIGHT|FULL|INNER|CROSS|SEMI|ANTI|OUTER)$/i;

/** One-line SQL with a line for each clause, for reading. SQL that has lines keeps them. */
export function layout(sql: string): string {
  if (sql.includes("\n")) {
    return sql;
  }
  let depth = 0;
  let out = "";
  let previous = "";
  for (const { kind, text } of tokenize(sql)) {
    if (kind === "text") {
      for (const c of text) {
        depth += c === "(" ? 1 : c === ")" ? -1 : 0;
      }
    }
    const continues = /^JOIN$/i.test(text) && joinWords.test(previous);
    if (kind === "keyword" && depth === 0 && out !== "" && clauses.test(text) && !continues && !/^OUTER$/i.test(text)) {
      out = `${out.trimEnd()}\n`;
    }
    out += text;
    if (text.trim() !== "") {
      previous = text;
    }
  }
  return out;
}
