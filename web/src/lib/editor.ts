import { request } from "./api";
import type { SqlCompletion, SqlDiagnostic, SqlFormatted, SqlHover, SqlSignature, Validation } from "./types";

/** What the statement defines. */
export type Mode = "table" | "pipeline";

// The server that runs a statement also completes and checks it, so that the two never differ.

const ask = <T>(path: string, body: unknown, signal?: AbortSignal) =>
  request<T>(path, { method: "POST", body, ...(signal && { signal }) });

export const complete = (sql: string, offset: number, mode: Mode, signal?: AbortSignal) =>
  ask<SqlCompletion>("/api/sql/complete", { sql, offset, mode }, signal);

export const hover = (sql: string, offset: number, mode: Mode) =>
  ask<SqlHover | undefined>("/api/sql/hover", { sql, offset, mode });

export const signature = (sql: string, offset: number, mode: Mode, signal?: AbortSignal) =>
  ask<SqlSignature | undefined>("/api/sql/signature", { sql, offset, mode }, signal);

export const format = (sql: string, mode: Mode) => ask<SqlFormatted>("/api/sql/format", { sql, mode });

export const validate = (sql: string, mode: Mode, signal?: AbortSignal) =>
  ask<Validation>(`/api/${mode}s/validate`, { sql }, signal);

/** The place of a line and a column in code points, both from 1, in a text; a place behind the text is its end. */
export function offsetOf(text: string, line: number, column: number): number {
  let at = 0;
  for (let n = 1; n < line; n++) {
    const end = text.indexOf("\n", at);
    if (end < 0) {
      return text.length;
    }
    at = end + 1;
  }
  return forward(text, at, column - 1);
}

/** The place a number of code points behind another. */
export function forward(text: string, at: number, points: number): number {
  for (let n = 0; n < points && at < text.length; n++) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at;
}

export interface Change {
  from: number;
  to: number;
  insert: string;
}

export interface Finding {
  from: number;
  to: number;
  severity: "error" | "warning";
  message: string;
  hint: string;
  fix: { title: string; changes: Change[] } | null;
}

/** The stretch of text that a finding is about; one without a length marks the word there, or one letter. */
export function findingOf(text: string, d: SqlDiagnostic): Finding {
  const from = offsetOf(text, d.line, d.column);
  let to = forward(text, from, d.length ?? 0);
  if (to === from) {
    to = from + (/^[\p{L}\p{N}_]+/u.exec(text.slice(from))?.[0].length ?? Math.min(1, text.length - from));
  }
  return {
    from,
    to,
    severity: d.severity === "Error" ? "error" : "warning",
    message: d.message,
    hint: d.hint,
    fix: d.fix
      ? {
          title: d.fix.title,
          changes: d.fix.edits.map((e) => {
            const at = offsetOf(text, e.line, e.column);
            return { from: at, to: forward(text, at, e.length), insert: e.text };
          }),
        }
      : null,
  };
}

/** Where a cursor goes when only white space and the case of letters have changed around it. */
export function moved(before: string, at: number, after: string): number {
  let letters = before.slice(0, at).replace(/\s/g, "").length;
  let i = 0;
  for (; i < after.length && letters > 0; i++) {
    if (!/\s/.test(after[i] as string)) {
      letters--;
    }
  }
  return i;
}
