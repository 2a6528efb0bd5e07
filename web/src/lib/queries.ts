import { QueryClient as Client, type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, OfflineError, post, request, segment } from "./api";
import type { Mode } from "./editor";
import type {
  InstanceInfo,
  Pipeline,
  PipelineMetrics,
  Quarantine,
  Readiness,
  ReplayInfo,
  ResultEnvelope,
  Row,
  Source,
  SourceMetrics,
  Table,
  TableMetrics,
  TableRows,
} from "./types";

/** Live values are asked for once a second, definitions every five. */
export const livePeriod = 1000;
const definitionPeriod = 5000;
const offlinePeriod = 3000;

export function createQueryClient(): QueryClient {
  return new Client({
    defaultOptions: {
      queries: {
        retry: false,
        networkMode: "always",
        staleTime: 400,
        refetchOnWindowFocus: true,
        // A hidden tab asks for nothing; it catches up when it is seen again.
        refetchIntervalInBackground: false,
        refetchInterval: (query) => period(query.state.error, livePeriod),
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
}

function period(error: unknown, normal: number): number {
  return error instanceof OfflineError ? offlinePeriod : normal;
}

const definitions = { refetchInterval: (query: { state: { error: unknown } }) => period(query.state.error, definitionPeriod) };

export const useInstance = () =>
  useQuery({ queryKey: ["instance"], queryFn: ({ signal }) => get<InstanceInfo>("/api/meta/instance", signal), ...definitions });

export const useReadiness = () =>
  useQuery({
    queryKey: ["readyz"],
    queryFn: ({ signal }) => request<Readiness>("/readyz", { signal, accept: [503] }),
    refetchInterval: (query) => period(query.state.error, 2000),
  });

export const useSources = () =>
  useQuery({ queryKey: ["sources"], queryFn: ({ signal }) => get<Source[]>("/api/sources", signal), ...definitions });

export const useTables = () =>
  useQuery({ queryKey: ["tables"], queryFn: ({ signal }) => get<Table[]>("/api/tables", signal), ...definitions });

export const usePipelines = () =>
  useQuery({ queryKey: ["pipelines"], queryFn: ({ signal }) => get<Pipeline[]>("/api/pipelines", signal), ...definitions });

export const useSource = (name: string) =>
  useQuery({
    queryKey: ["source", name],
    queryFn: ({ signal }) => get<Source>(`/api/sources/${segment(name)}`, signal),
    ...definitions,
  });

export const useTable = (key: string) =>
  useQuery({
    queryKey: ["table", key],
    queryFn: ({ signal }) => get<Table>(`/api/tables/${segment(key)}`, signal),
    ...definitions,
  });

export const usePipeline = (key: string) =>
  useQuery({
    queryKey: ["pipeline", key],
    queryFn: ({ signal }) => get<Pipeline>(`/api/pipelines/${segment(key)}`, signal),
    ...definitions,
  });

export const sourceMetrics = (name: string) => ({
  queryKey: ["source-metrics", name],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<SourceMetrics>(`/api/sources/${segment(name)}/metrics`, signal),
});

export const tableMetrics = (id: string) => ({
  queryKey: ["table-metrics", id],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<TableMetrics>(`/api/tables/${segment(id)}/metrics`, signal),
});

export const pipelineMetrics = (id: string) => ({
  queryKey: ["pipeline-metrics", id],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<PipelineMetrics>(`/api/pipelines/${segment(id)}/metrics`, signal),
});

export const useTableRows = (id: string | undefined, limit: number, live: boolean) =>
  useQuery({
    queryKey: ["rows", id, limit],
    queryFn: ({ signal }) => get<TableRows>(`/api/tables/${segment(id ?? "")}/rows?limit=${limit}`, signal),
    enabled: id !== undefined,
    placeholderData: (previous) => previous,
    refetchInterval: (query) => (live ? period(query.state.error, livePeriod) : false),
  });

export const useResults = (id: string | undefined, limit: number, live = true) =>
  useQuery({
    queryKey: ["results", id, limit],
    queryFn: ({ signal }) => get<ResultEnvelope[]>(`/api/pipelines/${segment(id ?? "")}/results?limit=${limit}`, signal),
    enabled: id !== undefined,
    refetchInterval: (query) => (live ? period(query.state.error, livePeriod) : false),
  });

export const useSourceEvents = (name: string, live: boolean) =>
  useQuery({
    queryKey: ["events", name],
    queryFn: ({ signal }) => get<{ events: Row[] }>(`/api/sources/${segment(name)}/events?limit=50`, signal),
    refetchInterval: (query) => (live ? period(query.state.error, livePeriod) : false),
  });

export const useSourceReplay = (name: string) =>
  useQuery({
    queryKey: ["replay", name],
    queryFn: ({ signal }) => get<ReplayInfo>(`/api/sources/${segment(name)}/replay`, signal),
  });

export const useQuarantine = (name: string) =>
  useQuery({
    queryKey: ["quarantine", name],
    queryFn: ({ signal }) => get<Quarantine>(`/api/sources/${segment(name)}/quarantine?limit=100`, signal),
    refetchInterval: (query) => period(query.state.error, 2000),
  });

/** Starts or stops a table or pipeline and shows the answer at once. */
export function useControl(kind: "tables" | "pipelines", id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (verb: "start" | "stop") => post<Table | Pipeline>(`/api/${kind}/${segment(id)}/${verb}`),
    onSettled: () => client.invalidateQueries(),
  });
}

interface QueryDraft {
  name: string;
  description: string;
  sql: string;
  start: boolean;
}

/**
 * Creates a table or pipeline, or replaces the statement of one, and starts it when asked to. What an update leaves out
 * as null stays as it is.
 */
export function useSaveQuery(mode: Mode, entity: Table | Pipeline | undefined) {
  const path = `/api/${mode}s`;
  return useMutation({
    mutationFn: async ({ start, ...draft }: QueryDraft) => {
      const kept = { tags: null, metadata: null, sinks: null, shardBy: null, dependsOn: null, replayFrom: null };
      const saved = entity
        ? await request<Table | Pipeline>(`${path}/${segment(entity.id)}`, {
            method: "PUT",
            body: { ...entity, ...kept, ...draft },
          })
        : await post<Table | Pipeline>(path, draft);
      return start && saved.status !== "Running" ? post<Table | Pipeline>(`${path}/${segment(saved.id)}/start`) : saved;
    },
  });
}

export function useReplayQuarantine(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (seqs: number[] | undefined) =>
      post<{ replayed: number; remaining: number }>(`/api/sources/${segment(name)}/quarantine/replay`, seqs ? { seqs } : {}),
    onSettled: () => client.invalidateQueries(),
  });
}
