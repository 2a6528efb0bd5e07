import { beforeEach, expect, it } from "vitest";
import { historyLength, note, noteRate, resetRates } from "./rates";
import { total } from "./use-live-rates";

beforeEach(resetRates);

it("turns totals into rates per second", () => {
  expect(note("a", 100, 1000)).toEqual([]);
  expect(note("a", 150, 2000)).toEqual([50]);
  expect(note("a", 150, 4000)).toEqual([50, 0]);
});

it("counts one poll once, however many ask", () => {
  note("a", 0, 1000);
  note("a", 10, 2000);
  expect(note("a", 10, 2000)).toEqual([10]);
});

it("takes a counter that fell as one that was restarted", () => {
  note("a", 100, 1000);
  expect(note("a", 30, 2000)).toEqual([30]);
});

it("keeps the last minute", () => {
  for (let i = 0; i < historyLength + 10; i++) {
    noteRate("b", i, 1000 * (i + 1));
  }
  const rates = noteRate("b", 0, 0);
  expect(rates.length).toBe(historyLength);
  expect(rates.at(-1)).toBe(historyLength + 9);
});

it("sums several entities, aligned at the newest", () => {
  expect(total([{ rates: [1, 2, 3] }, { rates: [10] }, { rates: [] }])).toEqual([1, 2, 13]);
});
