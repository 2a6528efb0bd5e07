import { describe, expect, it } from "vitest";
import { ago, bytes, cell, count, duration, fractionDigits, rate, shownKind } from "./format";
import { parseJson } from "./json";

describe("numbers", () => {
  it("are short when large and exact when small", () => {
    expect([count(0), count(12345), count(1_234_567)]).toEqual(["0", "12,345", "1.2M"]);
    expect([rate(0), rate(9.96), rate(123.4), rate(45_678)]).toEqual(["0.0", "10.0", "123", "45.7K"]);
    expect([bytes(0), bytes(1023), bytes(1536), bytes(5 * 1024 ** 3)]).toEqual(["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
  });

  it("survive JSON beyond 2^53", () => {
    const row = parseJson<{ big: string; small: number; real: number; text: string }>(
      '{"big": 9223372036854775807, "small": 7, "real": 0.1234567890123456789, "text": "9223372036854775807"}',
    );
    expect(row.small).toBe(7);
    expect(row.real).toBeCloseTo(0.12345678901234568);
    expect(row.text).toBe("9223372036854775807");
    // Node 20 has no source text access yet; browsers do. Either way nothing breaks.
    expect(["9223372036854775807", 2 ** 63]).toContain(row.big);
    expect(cell("9223372036854775807", "Long")).toBe("9,223,372,036,854,775,807");
  });
});

describe("times", () => {
  it("say how long", () => {
    expect([duration(59_999), duration(61_000), duration(3_661_000), duration(90_000_000)]).toEqual([
      "59 s",
      "1 min 1 s",
      "1 h 1 min",
      "1 d 1 h",
    ]);
    expect([ago(0), ago(99_000, 100_000), ago(0 + 40_000, 100_000)]).toEqual(["never", "just now", "1 min 0 s ago"]);
  });
});

describe("cells", () => {
  it("show NULL, JSON and truth values as such", () => {
    expect([cell(null, "Long"), cell(undefined, "String"), cell(true, "Bool"), cell({ a: [1] }, "Json")]).toEqual([
      "NULL",
      "NULL",
      "true",
      '{"a":[1]}',
    ]);
    expect([cell(1234.56789, "Double"), cell(1234, "Long"), cell("x", "String")]).toEqual(["1,234.5679", "1,234", "x"]);
  });

  it("show the decimals of one column alike", () => {
    expect([fractionDigits([1, 2]), fractionDigits([1.5, null, 2.25]), fractionDigits([1 / 3, 1.5]), fractionDigits([])]).toEqual(
      [0, 2, 4, 0],
    );
    expect([cell(1.5, "Double", 2), cell(1.005, "Double", 3), cell(7, "Double", 0)]).toEqual(["1.50", "1.005", "7"]);
  });

  it("show window bounds as times", () => {
    expect([
      shownKind("window_end", "Long"),
      shownKind("stage_ts", "Long"),
      shownKind("qty", "Long"),
      shownKind("atMs", "Long"),
    ]).toEqual(["Timestamp", "Timestamp", "Long", "Timestamp"]);
  });
});
