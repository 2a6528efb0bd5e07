import { Link } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert, X } from "lucide-react";
import { useEffect, useState } from "react";
import { CopyButton } from "@/components/copy-button";
import { FlowGraph } from "@/components/flow-graph";
import { PageHeader } from "@/components/page-header";
import { Sparkline } from "@/components/sparkline";
import { Stat } from "@/components/stat";
import { Empty, ErrorPanel } from "@/components/states";
import { toneOf } from "@/components/status";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardContent, CardHeader, CardTitle } from "@/components/ui/card";
import { Skeleton } from "@/components/ui/skeleton";
import { count, duration, rate } from "@/lib/format";
import type { GraphEdge, GraphNode } from "@/lib/graph";
import { useInstance, usePipelines, useReadiness, useSources, useTables } from "@/lib/queries";
import type { Pipeline, Source, Table } from "@/lib/types";
import {
  type PipelineRate,
  type SourceRate,
  sum,
  type TableRate,
  total,
  usePipelineRates,
  useSourceRates,
  useTableRates,
} from "@/lib/use-live-rates";

export function OverviewPage() {
  const sources = useSources();
  const tables = useTables();
  const pipelines = usePipelines();
  const sourceRates = useSourceRates(sources.data ?? []);
  const tableRates = useTableRates(tables.data ?? []);
  const pipelineRates = usePipelineRates(pipelines.data ?? []);
  const failed = [...(tables.data ?? []), ...(pipelines.data ?? [])].filter((q) => q.status === "Failed" || q.degraded);

  const error = sources.error ?? tables.error ?? pipelines.error;
  const loaded = sources.data && tables.data && pipelines.data;
  return (
    <>
      <PageHeader
        title="Overview"
        description="What comes in, what is kept, and whether all of it is well."
        actions={<HealthBadge />}
      />
      <Warnings />
      <div className="grid grid-cols-2 gap-3 xl:grid-cols-4">
        <Stat
          label="Rows in"
          value={rate(sum(sourceRates.values()))}
          unit="/s"
          hint={`from ${count(sources.data?.filter((s) => s.enabled).length ?? 0)} sources`}
          chart={<Sparkline values={total(sourceRates.values())} color="var(--source)" label="Rows in, the last minute" />}
        />
        <Stat
          label="Table changes"
          value={rate(sum(tableRates.values()))}
          unit="/s"
          hint={`${count([...tableRates.values()].reduce((n, t) => n + (t.metrics?.rowCount ?? 0), 0))} rows kept`}
          chart={<Sparkline values={total(tableRates.values())} color="var(--table)" label="Table changes, the last minute" />}
        />
        <Stat
          label="Pipeline results"
          value={rate(sum(pipelineRates.values()))}
          unit="/s"
          hint={`${count([...pipelineRates.values()].reduce((n, p) => n + (p.metrics?.windowsClosed ?? 0), 0))} windows closed`}
          chart={
            <Sparkline values={total(pipelineRates.values())} color="var(--pipeline)" label="Pipeline results, the last minute" />
          }
        />
        <Quarantined rates={sourceRates} />
      </div>
      {failed.length > 0 && (
        <div className="mt-3 rounded-xl border border-failed/40 bg-failed/8 px-5 py-3 text-sm">
          <span className="font-medium text-failed">Needs attention: </span>
          {failed.map((f) => f.name).join(", ")}
        </div>
      )}
      <Card className="mt-6">
        <CardHeader>
          <CardTitle>Flow</CardTitle>
          <div className="flex gap-4 text-xs text-muted-foreground">
            <Legend color="bg-source">Source</Legend>
            <Legend color="bg-table">Table</Legend>
            <Legend color="bg-pipeline">Pipeline</Legend>
          </div>
        </CardHeader>
        <CardContent>
          {error && !loaded ? (
            <ErrorPanel error={error} />
          ) : !loaded ? (
            <Skeleton className="h-72 w-full" />
          ) : sources.data.length === 0 ? (
            <Empty title="No sources yet">
              Create one with <code className="font-mono">POST /api/sources</code>, or start an empty data directory with the demo
              world.
            </Empty>
          ) : (
            <FlowGraph {...graph(sources.data, tables.data, pipelines.data, sourceRates, tableRates, pipelineRates)} />
          )}
        </CardContent>
      </Card>
      <FirstSteps table={busiest(tables.data ?? [], tableRates)} />
    </>
  );
}

function Legend({ color, children }: { color: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span aria-hidden className={`size-2 rounded-[3px] ${color}`} />
      {children}
    </span>
  );
}

function graph(
  sources: Source[],
  tables: Table[],
  pipelines: Pipeline[],
  sourceRates: Map<string, SourceRate>,
  tableRates: Map<string, TableRate>,
  pipelineRates: Map<string, PipelineRate>,
): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const latest = (r: { rates: number[] } | undefined) => r?.rates.at(-1) ?? 0;
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  for (const s of sources) {
    nodes.push({
      id: `source/${s.name}`,
      kind: "source",
      name: s.name,
      note: s.kind === "generator" ? `generator · ${s.generatorProfile}` : s.kind,
      href: `/sources/${encodeURIComponent(s.name)}`,
      tone: s.enabled ? "running" : "stopped",
      status: s.enabled ? "Enabled" : "Disabled",
      rate: latest(sourceRates.get(s.name)),
    });
  }
  for (const t of tables) {
    const id = `table/${t.name}`;
    const rows = tableRates.get(t.id)?.metrics?.rowCount;
    nodes.push({
      id,
      kind: "table",
      name: t.name,
      note: rows === undefined ? "table" : `${count(rows)} ${rows === 1 ? "row" : "rows"}`,
      href: `/tables/${t.id}`,
      tone: toneOf(t.status, t.degraded),
      status: t.status,
      rate: latest(tableRates.get(t.id)),
    });
    for (const [kind, names] of [
      ["source", t.streamInputs],
      ["table", t.tableInputs],
      ["pipeline", t.pipelineInputs],
    ] as const) {
      edges.push(...(names ?? []).map((name) => ({ from: `${kind}/${name}`, to: id })));
    }
  }
  const tableNames = new Set(tables.map((t) => t.name));
  for (const p of pipelines) {
    const id = `pipeline/${p.name}`;
    nodes.push({
      id,
      kind: "pipeline",
      name: p.name,
      note: `${count(pipelineRates.get(p.id)?.metrics?.totalRowsOut ?? 0)} results`,
      href: `/pipelines/${p.id}`,
      tone: toneOf(p.status, p.degraded),
      status: p.status,
      rate: latest(pipelineRates.get(p.id)),
    });
    edges.push(
      ...(p.sourceNames ?? []).map((name) => ({ from: `${tableNames.has(name) ? "table" : "source"}/${name}`, to: id })),
    );
  }
  return { nodes, edges };
}

function Quarantined({ rates }: { rates: Map<string, SourceRate> }) {
  let n = 0;
  let rows = 0;
  for (const { metrics } of rates.values()) {
    n += metrics?.quarantinedTotal ?? 0;
    rows += metrics?.rowsTotal ?? 0;
  }
  const instance = useInstance();
  return (
    <Stat
      label="In quarantine"
      value={count(n)}
      tone={n > 0 ? "warn" : "default"}
      hint={n > 0 ? `of ${count(rows)} rows; look at the sources` : `every one of ${count(rows)} rows was read`}
      chart={
        instance.data && (
          <div className="shrink-0 text-right text-xs text-muted-foreground">
            up
            <div className="font-medium text-foreground tabular-nums">{duration(Date.now() - instance.data.startedAtMs)}</div>
          </div>
        )
      }
    />
  );
}

function HealthBadge() {
  const ready = useReadiness();
  if (!ready.data) {
    return null;
  }
  const { status } = ready.data;
  const failing = ready.data.checks.filter((c) => !c.ok);
  return status === "ready" ? (
    <Badge variant="running" className="px-2.5 py-1">
      <CircleCheck aria-hidden /> All checks pass
    </Badge>
  ) : (
    <Badge variant="degraded" className="px-2.5 py-1">
      <TriangleAlert aria-hidden /> {failing.map((c) => c.progress ?? `${c.name}: ${c.error ?? "fails"}`).join(" · ") || status}
    </Badge>
  );
}

function Warnings() {
  const instance = useInstance();
  const warnings = instance.data?.catalogWarnings ?? [];
  if (warnings.length === 0) {
    return null;
  }
  return (
    <div className="mb-4 flex gap-3 rounded-xl border border-degraded/40 bg-degraded/8 px-4 py-3 text-sm">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-degraded" />
      <ul className="flex flex-col gap-1">
        {warnings.map((w) => (
          <li key={w}>{w}</li>
        ))}
      </ul>
    </div>
  );
}

const closedKey = "sf.firstSteps.closed";

/** The table that shows best what a table is. */
function busiest(tables: Table[], rates: Map<string, TableRate>): Table | undefined {
  const changes = (t: Table) => rates.get(t.id)?.metrics?.deltasOut ?? 0;
  return tables.toSorted((a, b) => changes(b) - changes(a))[0];
}

function FirstSteps({ table }: { table: Table | undefined }) {
  const [closed, setClosed] = useState(true);
  useEffect(() => {
    setClosed(localStorage.getItem(closedKey) === "1");
  }, []);
  const instance = useInstance();
  const rest = instance.data?.endpoints.rest || window.location.origin;
  if (closed || !table) {
    return null;
  }
  const curl = [
    `TOKEN=$(curl -s ${rest}/api/auth/login -H 'Content-Type: application/json' \\`,
    `  -d '{"username":"viewer","password":"viewer123!"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
    `curl -s -H "Authorization: Bearer $TOKEN" ${rest}/api/tables/${encodeURIComponent(table.name)}/rows`,
  ].join("\n");
  return (
    <Card className="mt-6">
      <CardHeader>
        <CardTitle>First steps</CardTitle>
        <Button
          variant="ghost"
          size="icon-sm"
          aria-label="Close first steps"
          onClick={() => {
            localStorage.setItem(closedKey, "1");
            setClosed(true);
          }}
        >
          <X />
        </Button>
      </CardHeader>
      <div className="grid gap-px overflow-hidden rounded-b-xl bg-border lg:grid-cols-[1fr_2fr]">
        <div className="bg-card p-5 text-sm">
          <p className="font-medium">Watch a table stay right</p>
          <p className="mt-1 text-muted-foreground">
            Its rows change in place while the source moves. Sort, filter, or hold them still.
          </p>
          <Button asChild size="sm" className="mt-3">
            <Link to="/tables/$key" params={{ key: table.id }}>
              Open {table.name}
            </Link>
          </Button>
        </div>
        <div className="relative min-w-0 bg-card p-5 text-sm">
          <p className="font-medium">Read it from anywhere</p>
          <pre className="mt-2 overflow-x-auto rounded-md bg-muted p-3 font-mono text-xs leading-5">{curl}</pre>
          <div className="absolute top-3 right-3">
            <CopyButton text={curl} label="Copy the commands" />
          </div>
        </div>
      </div>
    </Card>
  );
}
