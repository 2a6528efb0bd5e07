import { describe, expect, it } from "vitest";
import { layout, tokenize } from "./sql";

const kinds = (sql: string) =>
  tokenize(sql)
    .filter((t) => t.kind !== "text")
    .map((t) => `${t.kind}:${t.text}`);

describe("tokenize", () => {
  it("loses nothing", () => {
    const sql = "select 'it''s', SUM(x) -- note\n/* b */ FROM t WHERE a -> 'b' ->> 'c' = 1.5e3 AND \"q\" <> 'open";
    expect(
      tokenize(sql)
        .map((t) => t.text)
        .join(""),
    ).toBe(sql);
  });

  it("knows keywords, functions, texts, numbers and comments", () => {
    expect(kinds("SELECT COUNT(*), 'a''b' FROM t2 -- x")).toEqual([
      "keyword:SELECT",
      "function:COUNT",
      "string:'a''b'",
      "keyword:FROM",
      "comment:-- x",
    ]);
    expect(kinds("x1 > 12")).toEqual(["number:12"]);
  });
});

describe("layout", () => {
  it("gives each clause a line, outside of parentheses and texts", () => {
    expect(layout("SELECT a, 'FROM' FROM (SELECT b FROM c) LEFT JOIN d ON x = y WHERE a IN (SELECT b FROM c) GROUP BY a")).toBe(
      "SELECT a, 'FROM'\nFROM (SELECT b FROM c)\nLEFT JOIN d ON x = y\nWHERE a IN (SELECT b FROM c)\nGROUP BY a",
    );
  });

  it("leaves SQL with lines alone", () => {
    expect(layout("SELECT a\n  FROM b WHERE c")).toBe("SELECT a\n  FROM b WHERE c");
  });
});
