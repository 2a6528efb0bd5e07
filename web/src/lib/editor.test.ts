import { expect, it } from "vitest";
import { findingOf, forward, moved, offsetOf } from "./editor";
import type { SqlDiagnostic } from "./types";

const base: SqlDiagnostic = { message: "m", line: 1, column: 1, severity: "Error", code: "c", hint: "" };

it("finds lines and columns, which count code points", () => {
  const text = "SELECT 'é🎉', x\nFROM t";
  expect(offsetOf(text, 1, 8)).toBe(7);
  expect(text.slice(offsetOf(text, 1, 14))).toBe("x\nFROM t");
  expect(text.slice(offsetOf(text, 2, 6))).toBe("t");
  expect(offsetOf(text, 9, 1)).toBe(text.length);
  expect(offsetOf(text, 2, 99)).toBe(text.length);
  expect(forward("🎉a", 0, 1)).toBe(2);
});

it("marks the stretch of a finding, else the word there", () => {
  const text = "SELECT qyt FROM t";
  expect(findingOf(text, { ...base, column: 8, length: 3 })).toMatchObject({ from: 7, to: 10, severity: "error" });
  expect(findingOf(text, { ...base, column: 8, severity: "Warning" })).toMatchObject({ from: 7, to: 10, severity: "warning" });
  expect(findingOf(text, { ...base, column: 18 })).toMatchObject({ from: 17, to: 17 });
});

it("turns the edits of a fix into changes", () => {
  const fix = { title: "Write qty", edits: [{ line: 1, column: 13, length: 3, text: "qty" }] };
  expect(findingOf("SELECT '🎉', qyt FROM t", { ...base, column: 13, length: 3, fix }).fix).toEqual({
    title: "Write qty",
    changes: [{ from: 13, to: 16, insert: "qty" }],
  });
});

it("keeps the cursor at its letter when a text is laid out", () => {
  const before = "select a,b from t";
  const after = "SELECT a, b\nFROM t";
  expect(after.slice(moved(before, before.indexOf(" t"), after))).toBe(" t");
  expect(moved(before, 0, after)).toBe(0);
  expect(moved(before, before.length, after)).toBe(after.length);
});
