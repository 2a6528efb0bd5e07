import { useQueries } from "@tanstack/react-query";
import { pipelineMetrics, sourceMetrics, tableMetrics } from "./queries";
import { note, noteRate } from "./rates";
import type { Pipeline, PipelineMetrics, Source, SourceMetrics, Table, TableMetrics } from "./types";

/** How many entities of a kind are asked for metrics each second; beyond it a list shows names only. */
const askedAtMost = 60;

export interface SourceRate {
  metrics: SourceMetrics | undefined;
  rates: number[];
}

export interface TableRate {
  metrics: TableMetrics | undefined;
  /** Changes a second that the table published. */
  rates: number[];
}

export interface PipelineRate {
  metrics: PipelineMetrics | undefined;
  rates: number[];
}

const last = (rates: number[]) => rates.at(-1) ?? 0;

export const sum = (entries: Iterable<{ rates: number[] }>): number => {
  let total = 0;
  for (const e of entries) {
    total += last(e.rates);
  }
  return total;
};

export function useSourceRates(sources: Source[]): Map<string, SourceRate> {
  const asked = sources.slice(0, askedAtMost);
  const results = useQueries({ queries: asked.map((s) => sourceMetrics(s.name)) });
  return new Map(
    asked.map((s, i) => {
      const r = results[i];
      const rates = r?.data ? noteRate(`source/${s.name}`, r.data.rowsPerSec, r.dataUpdatedAt) : [];
      return [s.name, { metrics: r?.data, rates }];
    }),
  );
}

export function useTableRates(tables: Table[]): Map<string, TableRate> {
  const asked = tables.slice(0, askedAtMost);
  const results = useQueries({ queries: asked.map((t) => tableMetrics(t.id)) });
  return new Map(
    asked.map((t, i) => {
      const r = results[i];
      const rates = r?.data ? note(`table/${t.id}`, r.data.deltasOut, r.dataUpdatedAt) : [];
      return [t.id, { metrics: r?.data, rates }];
    }),
  );
}

export function usePipelineRates(pipelines: Pipeline[]): Map<string, PipelineRate> {
  const asked = pipelines.slice(0, askedAtMost);
  const results = useQueries({ queries: asked.map((p) => pipelineMetrics(p.id)) });
  return new Map(
    asked.map((p, i) => {
      const r = results[i];
      const rates = r?.data ? noteRate(`pipeline/${p.id}`, r.data.rowsOutPerSec, r.dataUpdatedAt) : [];
      return [p.id, { metrics: r?.data, rates }];
    }),
  );
}

/** Sums rates of several entities second by second, aligned at the newest. */
export function total(all: Iterable<{ rates: number[] }>): number[] {
  const lists = [...all].map((e) => e.rates).filter((r) => r.length > 0);
  const length = Math.max(0, ...lists.map((r) => r.length));
  return Array.from({ length }, (_, i) => lists.reduce((n, r) => n + (r[r.length - length + i] ?? 0), 0));
}
