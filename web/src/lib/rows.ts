import type { Kind, Row, Value } from "./types";

export interface Column {
  name: string;
  kind: Kind;
}

export type Direction = "up" | "down" | "text";

export interface KeyedRow {
  key: string;
  row: Row;
  weight: number;
}

/**
 * The identity of a row: its key columns where the table has them, one constant for a
 * table of a single row (an empty key), else the whole row.
 */
export function rowKey(row: Row, keyFields: string[] | null): string {
  if (keyFields === null) {
    return JSON.stringify(row);
  }
  return JSON.stringify(keyFields.map((k) => row[k] ?? null));
}

/** Gives rows their keys; equal keys (whole-row identity) are told apart by a counter. */
export function keyed(rows: { row: Row; weight: number }[], keyFields: string[] | null): KeyedRow[] {
  const seen = new Map<string, number>();
  return rows.map(({ row, weight }) => {
    const base = rowKey(row, keyFields);
    const n = seen.get(base) ?? 0;
    seen.set(base, n + 1);
    return { key: n === 0 ? base : `${base}#${n}`, row, weight };
  });
}

/** What changed in a row since it was seen last. Version grows with each change. */
export interface Change {
  version: number;
  cells: Map<string, Direction>;
  fresh: boolean;
}

/**
 * Remembers rows from one poll to the next and tells what changed. The first poll marks
 * nothing: everything would be new.
 */
export class ChangeTracker {
  private before: Map<string, Row> | null = null;
  private version = 0;
  private changes = new Map<string, Change>();

  update(rows: KeyedRow[]): Map<string, Change> {
    const previous = this.before;
    this.version++;
    const next = new Map<string, Row>();
    const changes = new Map<string, Change>();
    for (const { key, row } of rows) {
      next.set(key, row);
      if (previous === null) {
        continue;
      }
      const old = previous.get(key);
      if (old === undefined) {
        changes.set(key, { version: this.version, cells: new Map(), fresh: true });
        continue;
      }
      const cells = new Map<string, Direction>();
      for (const [name, value] of Object.entries(row)) {
        const direction = compareCells(old[name], value);
        if (direction) {
          cells.set(name, direction);
        }
      }
      const kept = this.changes.get(key);
      if (cells.size > 0) {
        changes.set(key, { version: this.version, cells, fresh: false });
      } else if (kept) {
        changes.set(key, kept);
      }
    }
    this.before = next;
    this.changes = changes;
    return changes;
  }
}

function compareCells(old: Value | undefined, value: Value): Direction | null {
  if (old === value) {
    return null;
  }
  if (typeof old === "number" && typeof value === "number") {
    return value > old ? "up" : "down";
  }
  if (typeof old === "object" && typeof value === "object" && JSON.stringify(old) === JSON.stringify(value)) {
    return null;
  }
  return "text";
}

export interface Sort {
  column: string;
  descending: boolean;
}

/** Orders values of one column: NULL last whichever way, numbers as numbers, text by the alphabet. */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === "number" && typeof b === "number") {
    return a - b;
  }
  const x = asText(a);
  const y = asText(b);
  if (/^-?\d+$/.test(x) && /^-?\d+$/.test(y)) {
    const p = BigInt(x);
    const q = BigInt(y);
    return p < q ? -1 : p > q ? 1 : 0;
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

function asText(v: Value | undefined): string {
  return typeof v === "string" ? v : JSON.stringify(v ?? null);
}

const isNull = (v: Value | undefined) => v === null || v === undefined;

export function sortRows<T extends { row: Row }>(rows: T[], sort: Sort | null): T[] {
  if (!sort) {
    return rows;
  }
  const sign = sort.descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const x = a.row[sort.column];
    const y = b.row[sort.column];
    if (isNull(x) || isNull(y)) {
      return isNull(x) && isNull(y) ? 0 : isNull(x) ? 1 : -1;
    }
    return sign * compareValues(x, y);
  });
}

/** Keeps rows in which every word of the filter occurs in some cell, in any case. */
export function filterRows<T extends { row: Row }>(rows: T[], filter: string): T[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    return rows;
  }
  return rows.filter(({ row }) => {
    const text = Object.values(row).map(asText).join("\u0000").toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

/** The next state of a column's sort button: ascending, descending, off. */
export function nextSort(sort: Sort | null, column: string): Sort | null {
  if (sort?.column !== column) {
    return { column, descending: false };
  }
  return sort.descending ? null : { column, descending: true };
}

/** Columns of rows without a declared schema, in order of first appearance. */
export function columnsOf(rows: Row[]): Column[] {
  const kinds = new Map<string, Kind>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (value === null || kinds.has(name)) {
        continue;
      }
      kinds.set(
        name,
        typeof value === "number"
          ? "Double"
          : typeof value === "boolean"
            ? "Bool"
            : typeof value === "object"
              ? "Json"
              : "String",
      );
    }
  }
  return [...kinds].map(([name, kind]) => ({ name, kind }));
}

/** Rows as CSV, quoted where needed, in the order and selection that is shown. */
export function toCsv(columns: Column[], rows: { row: Row }[]): string {
  const quote = (v: Value | undefined) => {
    const text = v === null || v === undefined ? "" : asText(v);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((c) => quote(c.name)).join(",")];
  for (const { row } of rows) {
    lines.push(columns.map((c) => quote(row[c.name])).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}
