import { describe, expect, it } from "vitest";
import { ChangeTracker, columnsOf, filterRows, keyed, nextSort, rowKey, sortRows, toCsv } from "./rows";

const rows = (...list: Record<string, string | number | null>[]) => list.map((row) => ({ row, weight: 1 }));

describe("row identity", () => {
  it("is the key columns, one constant for a single row, or the whole row", () => {
    expect(rowKey({ a: 1, b: 2 }, ["a"])).toBe("[1]");
    expect(rowKey({ a: 1, b: 2 }, [])).toBe("[]");
    expect(rowKey({ a: 1, b: 2 }, null)).toBe('{"a":1,"b":2}');
    expect(rowKey({ b: 2 }, ["a"])).toBe("[null]");
  });

  it("tells equal rows apart", () => {
    expect(keyed(rows({ a: 1 }, { a: 1 }), null).map((r) => r.key)).toEqual(['{"a":1}', '{"a":1}#1']);
  });
});

describe("changes", () => {
  const tracker = (...polls: Record<string, string | number | null>[][]) => {
    const t = new ChangeTracker();
    return polls.map((p) => t.update(keyed(rows(...p), ["k"]))).at(-1);
  };

  it("marks nothing in the first poll", () => {
    expect(tracker([{ k: "a", n: 1 }])?.size).toBe(0);
  });

  it("marks which cells went up, down, or changed otherwise", () => {
    const c = tracker([{ k: "a", up: 1, down: 2, text: "x", same: 3 }], [{ k: "a", up: 2, down: 1, text: "y", same: 3 }])?.get(
      '["a"]',
    );
    expect(Object.fromEntries(c?.cells ?? [])).toEqual({ up: "up", down: "down", text: "text" });
    expect(c?.fresh).toBe(false);
  });

  it("marks new rows as a whole, and keeps a mark while the row rests", () => {
    expect(
      tracker(
        [{ k: "a", n: 1 }],
        [
          { k: "a", n: 1 },
          { k: "b", n: 1 },
        ],
      )?.get('["b"]')?.fresh,
    ).toBe(true);
    const t = new ChangeTracker();
    t.update(keyed(rows({ k: "a", n: 1 }), ["k"]));
    const first = t.update(keyed(rows({ k: "a", n: 2 }), ["k"])).get('["a"]');
    const later = t.update(keyed(rows({ k: "a", n: 2 }), ["k"])).get('["a"]');
    const again = t.update(keyed(rows({ k: "a", n: 3 }), ["k"])).get('["a"]');
    expect(later).toBe(first);
    expect(again?.version).toBeGreaterThan(first?.version ?? 0);
  });

  it("forgets rows that are gone", () => {
    expect(tracker([{ k: "a", n: 1 }], [], [{ k: "a", n: 1 }])?.get('["a"]')?.fresh).toBe(true);
  });
});

describe("order", () => {
  const numbers = rows({ n: 10 }, { n: null }, { n: 9 }, { n: "100000000000000000001" });
  const values = (s: ReturnType<typeof sortRows<{ row: Record<string, unknown> } & (typeof numbers)[number]>>) =>
    s.map((r) => r.row.n);

  it("is numeric, exact beyond 2^53, with NULL last either way", () => {
    expect(values(sortRows(numbers, { column: "n", descending: false }))).toEqual([9, 10, "100000000000000000001", null]);
    expect(values(sortRows(numbers, { column: "n", descending: true }))).toEqual(["100000000000000000001", 10, 9, null]);
    expect(sortRows(numbers, null)).toBe(numbers);
  });

  it("goes ascending, descending, off", () => {
    const up = nextSort(null, "n");
    const down = nextSort(up, "n");
    expect([up, down, nextSort(down, "n"), nextSort(down, "m")]).toEqual([
      { column: "n", descending: false },
      { column: "n", descending: true },
      null,
      { column: "m", descending: false },
    ]);
  });
});

describe("filter", () => {
  it("wants every word, in any cell, in any case", () => {
    const all = rows({ a: "Apple", b: 12 }, { a: "pear", b: 3 });
    expect(filterRows(all, " APP 12 ").length).toBe(1);
    expect(filterRows(all, "app 3").length).toBe(0);
    expect(filterRows(all, "")).toBe(all);
  });

  it("does not join neighbouring cells", () => {
    expect(filterRows(rows({ a: "x", b: "y" }), "xy").length).toBe(0);
  });
});

describe("export", () => {
  it("quotes what CSV needs quoted and leaves NULL empty", () => {
    const columns = [
      { name: "a,b", kind: "String" as const },
      { name: "n", kind: "Long" as const },
    ];
    expect(toCsv(columns, rows({ "a,b": 'say "hi"\n', n: null }))).toBe('"a,b",n\r\n"say ""hi""\n",\r\n');
  });

  it("finds columns of rows without a schema", () => {
    expect(columnsOf([{ a: null }, { a: 1, b: "x" }, { c: [1] }])).toEqual([
      { name: "a", kind: "Double" },
      { name: "b", kind: "String" },
      { name: "c", kind: "Json" },
    ]);
  });
});
