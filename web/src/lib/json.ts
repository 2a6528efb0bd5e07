import type { Value } from "./types";

// A run of 16 or more digits may not fit a double, and only then is the slower way needed.
const longNumber = /[-:[,\s]\d{16,}/;

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

/**
 * Parses JSON without losing integers beyond 2^53: they become their digits as text, which
 * is how they are shown. Engines without source text access round them, as JSON.parse does.
 */
export function parseJson<T = Value>(text: string): T {
  if (!longNumber.test(text)) {
    return JSON.parse(text) as T;
  }
  const exact: Reviver = (_key, value, context) => {
    if (typeof value === "number" && !Number.isSafeInteger(value) && context?.source && /^-?\d+$/.test(context.source)) {
      return context.source;
    }
    return value;
  };
  return JSON.parse(text, exact as (this: unknown, key: string, value: unknown) => unknown) as T;
}
