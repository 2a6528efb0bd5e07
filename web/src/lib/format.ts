import type { Kind, Value } from "./types";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const mostDigits = 4;
const decimals = Array.from(
  { length: mostDigits + 1 },
  (_, least) => new Intl.NumberFormat("en", { minimumFractionDigits: least, maximumFractionDigits: mostDigits }),
);
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const oneDigit = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** A count: exact while it fits, short above a million. */
export function count(n: number): string {
  return Math.abs(n) >= 1_000_000 ? compact.format(n) : whole.format(n);
}

/** Rows per second. */
export function rate(n: number): string {
  if (n >= 10_000) {
    return compact.format(n);
  }
  return n >= 100 ? whole.format(n) : oneDigit.format(n);
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return i === 0 ? `${n} B` : `${oneDigit.format(n)} ${units[i]}`;
}

/** A length of time in words of at most two units. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) {
    return `${s} s`;
  }
  if (s < 3600) {
    return `${Math.floor(s / 60)} min ${s % 60} s`;
  }
  if (s < 86_400) {
    return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  }
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** How long ago a moment was; empty for a moment that never was. */
export function ago(ms: number, now = Date.now()): string {
  if (!ms) {
    return "never";
  }
  const age = now - ms;
  return age < 1500 ? "just now" : `${duration(age)} ago`;
}

export function time(ms: number): string {
  const d = new Date(ms);
  if (Number.isNaN(d.getTime())) {
    return String(ms);
  }
  const pad = (n: number, width = 2) => String(n).padStart(width, "0");
  const clock = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}.${pad(d.getMilliseconds(), 3)}`;
  const today = new Date().toDateString() === d.toDateString();
  return today ? clock : `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock}`;
}

/** A cell as text. The full value is for the tooltip; this one is for reading. */
export function cell(value: Value | undefined, kind: Kind, digits = 0): string {
  if (value === null || value === undefined) {
    return "NULL";
  }
  switch (typeof value) {
    case "number":
      if (kind === "Timestamp") {
        return time(value);
      }
      return kind === "Double" ? (decimals[digits] ?? whole).format(value) : whole.format(value);
    case "boolean":
      return String(value);
    case "string":
      return kind === "Long" && /^-?\d+$/.test(value) ? whole.format(BigInt(value)) : value;
    default:
      return JSON.stringify(value);
  }
}

/** How many decimals a column of numbers needs, at most four. */
export function fractionDigits(values: (Value | undefined)[]): number {
  let most = 0;
  for (const v of values) {
    if (typeof v === "number" && most < mostDigits) {
      const text = v.toFixed(mostDigits).replace(/0+$/, "");
      most = Math.max(most, text.length - text.indexOf(".") - 1);
    }
  }
  return most;
}

/** The value without rounding, for tooltips and copying. */
export function exact(value: Value | undefined): string {
  if (value === undefined) {
    return "";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Columns of window bounds and event times are times although their kind is Long. */
export function shownKind(name: string, kind: Kind): Kind {
  return kind === "Long" && /^(window_start|window_end|_ts|.*_ts|.*Ms)$/.test(name) ? "Timestamp" : kind;
}
