// The objects of the REST contract that the console reads. Names and meaning are the server's.

export type Kind = "String" | "Double" | "Long" | "Bool" | "Timestamp" | "Json";
export type Status = "Stopped" | "Running" | "Failed";

/** An integer too large for a JavaScript number arrives as its digits, see parseJson. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
export type Row = { [column: string]: Value };

export interface Field {
  name: string;
  type: Kind;
  children?: Field[] | null;
  isArray?: boolean;
}

export interface Session {
  token: string;
  username: string;
  displayName: string;
  role: "Admin" | "Editor" | "Viewer";
}

export interface InstanceInfo {
  instanceId: string;
  name: string;
  flavor: string;
  version: string;
  endpoints: { rest: string; grpc: string };
  catalogCounts: { sources: number; pipelines: number; tables: number };
  catalogWarnings: string[];
  startedAtMs: number;
}

export interface Check {
  name: string;
  ok: boolean;
  error?: string;
  progress?: string;
}

export interface Readiness {
  status: "ready" | "starting" | "draining" | "failing";
  checks: Check[];
}

export interface Source {
  name: string;
  description: string;
  kind: string;
  generatorProfile: string;
  eventsPerSecond: number;
  enabled: boolean;
  fields: Field[];
  tags?: string[] | null;
  onCoercionFailure: string;
  revision: number;
  schemaRevision: number;
  createdBy: string;
  updatedAtMs: number;
}

export interface SourceMetrics {
  sourceName: string;
  rowsTotal: number;
  rowsPerSec: number;
  bytesTotal: number;
  coercedTotal: number;
  quarantinedTotal: number;
  droppedTotal: number;
  lastSeq: number;
  lastEventTsMs: number;
}

export interface ReplayInfo {
  firstSeq: number;
  lastSeq: number;
  retainedBytes: number;
  persisted: boolean;
}

export interface QuarantineEntry {
  seq: number;
  reason: string;
  stage: string;
  sourceSeq: number;
  index: number;
  contentType: string;
  payloadBase64: string;
}

export interface Quarantine {
  entries: QuarantineEntry[];
  total: number;
}

export interface Degraded {
  reason: string;
  missing: { input: string; from: number; to: number }[];
}

interface Query {
  id: string;
  name: string;
  description: string;
  sql: string;
  status: Status;
  error: string | null;
  outputFields: Field[];
  tags?: string[] | null;
  createdBy: string;
  updatedAtMs: number;
  revision: number;
  degraded: Degraded | null;
  staleInputs: string[] | null;
}

export interface Table extends Query {
  streamInputs: string[];
  tableInputs: string[];
  pipelineInputs: string[];
  keyFields: string[] | null;
  searchEnabled: boolean;
  historyEnabled: boolean;
  parallelism: number;
  persistence: string;
}

export interface Pipeline extends Query {
  sourceNames: string[];
}

export interface TableRow {
  row: Row;
  weight: number;
}

export interface TableRows {
  rows: TableRow[];
  totalRows: number;
  seq: number;
  frontierEpoch: number | null;
  position: number;
}

export interface Build {
  phase: string;
  rowsDone: number;
  rowsTotal: number;
  rowsPerSec: number;
  etaMs: number | null;
}

export interface TableMetrics {
  tableId: string;
  status: Status;
  rowCount: number;
  deltasIn: number;
  deltasOut: number;
  lastUpdateMs: number;
  rebuilding: boolean;
  declaredKeyColumns: string[];
  build: Build | null;
  epoch: number;
  stateBytes: number;
  overflowResults: number;
}

export interface PipelineMetrics {
  pipelineId: string;
  status: Status;
  eventsInPerSec: number;
  rowsOutPerSec: number;
  totalEventsIn: number;
  totalRowsOut: number;
  windowsClosed: number;
  lastEventTsMs: number;
  lateEvents: number;
  build: Build | null;
  epoch: number;
}

export interface ResultEnvelope {
  pipelineId: string;
  seq: number;
  timestampMs: number;
  row: Row;
  /** Absent for 1; -1 takes an earlier result back. */
  weight?: number;
}

/** A finding about a statement; lines and columns count from 1, columns and lengths in code points. */
export interface SqlDiagnostic {
  message: string;
  line: number;
  column: number;
  length?: number;
  severity: "Error" | "Warning";
  code: string;
  hint: string;
  fix?: SqlFix | null;
}

export interface SqlFix {
  title: string;
  edits: { line: number; column: number; length: number; text: string }[];
}

export interface Validation {
  ok: boolean;
  diagnostics: SqlDiagnostic[];
  planSummary: string | null;
  outputSchema: { name: string; kind: Kind }[];
  keyFields?: string[] | null;
  changelogMode: { mode: string; key: string[] | null } | null;
}

/** Offsets of these count UTF-16 code units, as strings here do. */
export interface SqlCompletion {
  from: number;
  to: number;
  items: { label: string; kind: string; insert: string; snippet: boolean; detail: string; doc: string }[];
}

export interface SqlHover {
  from: number;
  to: number;
  kind: string;
  title: string;
  lines: string[];
}

export interface SqlSignature {
  label: string;
  parameters: { label: string; from: number; to: number }[];
  active: number;
  result: string;
  doc: string;
}

export interface SqlFormatted {
  sql: string | null;
  diagnostics: SqlDiagnostic[];
}
