// Colours only: the grammar lives in the server, which says what is valid.

export type TokenKind = "keyword" | "function" | "string" | "number" | "comment" | "text";

export interface Token {
  kind: TokenKind;
  text: string;
}

const keywords = new Set(
  `ALL ALLOWED AND ANTI AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE EMIT END EXISTS FALSE FROM FULL GAP GROUP HAVING HOPPING
  IN INNER INSERT INTERVAL INTO IS JOIN LATENESS LATEST LEFT LIKE LIMIT MILLISECONDS MINUTES HOURS NOT NULL ON OR ORDER OUTER RIGHT SECONDS
  SELECT SEMI SESSION SIZE SLIDE THEN TRUE TUMBLING UNION UNNEST USING VALUES WHEN WHERE WINDOW WITH WITHIN`.split(/\s+/),
);

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
      kind = keywords.has(word.toUpperCase()) ? "keyword" : next.startsWith("(") ? "function" : "text";
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
