import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Hourglass } from "lucide-react";
import { useMemo, useState } from "react";
import { ControlButton } from "@/components/control-button";
import { Details } from "@/components/details";
import { Filter } from "@/components/filter";
import { LiveTable } from "@/components/live-table";
import { LiveToggle } from "@/components/live-toggle";
import { MetricList } from "@/components/metric-list";
import { PageHeader } from "@/components/page-header";
import { QueryCard } from "@/components/query-card";
import { Schema } from "@/components/schema";
import { Sparkline } from "@/components/sparkline";
import { Stat } from "@/components/stat";
import { Empty, ErrorPanel } from "@/components/states";
import { StatusBadge } from "@/components/status";
import { Card } from "@/components/ui/card";
import { Skeleton, SkeletonList } from "@/components/ui/skeleton";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/components/ui/tabs";
import { ago, count, rate } from "@/lib/format";
import { pipelineMetrics, usePipeline, useResults } from "@/lib/queries";
import { noteRate } from "@/lib/rates";
import { type Column, filterRows, type KeyedRow } from "@/lib/rows";
import type { Pipeline } from "@/lib/types";

export function PipelinePage() {
  const { key } = useParams({ from: "/shell/pipelines/$key" });
  const { tab = "results" } = useSearch({ from: "/shell/pipelines/$key" });
  const navigate = useNavigate();
  const pipeline = usePipeline(key);
  const p = pipeline.data;
  const metrics = useQuery({ ...pipelineMetrics(p?.id ?? key), enabled: p !== undefined });
  const m = metrics.data;
  const rates = m ? noteRate(`pipeline/${m.pipelineId}`, m.rowsOutPerSec, metrics.dataUpdatedAt) : [];
  const parent = { to: "/pipelines", label: "Pipelines" };
  if (pipeline.error && !p) {
    return (
      <>
        <PageHeader title={key} parent={parent} />
        <Card>
          <ErrorPanel error={pipeline.error} retry={() => void pipeline.refetch()} />
        </Card>
      </>
    );
  }
  if (!p) {
    return <Skeleton className="h-96 w-full" />;
  }
  const problem = p.error ?? p.degraded?.reason;
  return (
    <>
      <PageHeader
        title={p.name}
        parent={parent}
        description={p.description || undefined}
        badge={<StatusBadge status={p.status} error={p.error} degraded={p.degraded} staleInputs={p.staleInputs} />}
        actions={<ControlButton kind="pipelines" id={p.id} status={p.status} />}
      />
      {problem && (
        <div role="alert" className="mb-4 rounded-xl border border-failed/40 bg-failed/8 px-4 py-3 text-sm">
          {problem}
        </div>
      )}
      <div className="mb-6 grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Stat
          label="Rows in"
          value={m ? rate(m.eventsInPerSec) : "–"}
          unit="/s"
          hint={m ? `${count(m.totalEventsIn)} so far` : "\u00a0"}
        />
        <Stat
          label="Results"
          value={m ? rate(m.rowsOutPerSec) : "–"}
          unit="/s"
          hint={m ? `${count(m.totalRowsOut)} so far` : "\u00a0"}
          chart={<Sparkline values={rates} color="var(--pipeline)" label="Results, the last minute" />}
        />
        <Stat
          label="Windows closed"
          value={m ? count(m.windowsClosed) : "–"}
          hint={m ? `newest event ${ago(m.lastEventTsMs)}` : "\u00a0"}
        />
        <Stat
          label="Late rows"
          value={m ? count(m.lateEvents) : "–"}
          tone={m && m.lateEvents > 0 ? "warn" : "default"}
          hint="came after their window had closed"
        />
      </div>
      <Tabs
        value={tab}
        onValueChange={(v) => void navigate({ to: ".", search: v === "results" ? {} : { tab: v }, replace: true })}
      >
        <TabsList>
          <TabsTrigger value="results">Results</TabsTrigger>
          <TabsTrigger value="query">Query</TabsTrigger>
          <TabsTrigger value="schema">Schema</TabsTrigger>
          <TabsTrigger value="metrics">Metrics</TabsTrigger>
          <TabsTrigger value="definition">Definition</TabsTrigger>
        </TabsList>
        <TabsContent value="results">
          <Results pipeline={p} />
        </TabsContent>
        <TabsContent value="query">
          <QueryCard sql={p.sql} inputs={p.sourceNames} kind="pipelines" id={p.id} />
        </TabsContent>
        <TabsContent value="schema">
          <Card>
            {p.outputFields.length > 0 ? (
              <Schema fields={p.outputFields} />
            ) : (
              <Empty title="No schema: the query does not compile" />
            )}
          </Card>
        </TabsContent>
        <TabsContent value="metrics">
          <MetricList values={m} />
        </TabsContent>
        <TabsContent value="definition">
          <Details value={p} />
        </TabsContent>
      </Tabs>
    </>
  );
}

function Results({ pipeline }: { pipeline: Pipeline }) {
  const { q = "" } = useSearch({ from: "/shell/pipelines/$key" });
  const navigate = useNavigate();
  const [live, setLive] = useState(true);
  const results = useResults(pipeline.id, 100, live);
  const columns: Column[] = useMemo(
    () => pipeline.outputFields.map((f) => ({ name: f.name, kind: f.isArray ? ("Json" as const) : f.type })),
    [pipeline.outputFields],
  );
  const all: KeyedRow[] = useMemo(
    () => (results.data ?? []).toReversed().map((e) => ({ key: String(e.seq), row: e.row, weight: 1 })),
    [results.data],
  );
  const shown = filterRows(all, q);
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-3 border-b px-5 py-3">
        <Filter
          label="Filter results"
          value={q}
          onChange={(v) => void navigate({ to: ".", search: v ? { q: v } : {}, replace: true })}
        />
        <span className="text-sm text-muted-foreground">
          {q ? `${count(shown.length)} of ${count(all.length)} match` : `The newest ${all.length} results, newest first`}
        </span>
        <div className="ml-auto">
          <LiveToggle live={live} onChange={setLive} />
        </div>
      </div>
      {results.error && !results.data ? (
        <ErrorPanel error={results.error} retry={() => void results.refetch()} />
      ) : !results.data ? (
        <SkeletonList />
      ) : shown.length === 0 ? (
        <Empty title={q ? `No result matches “${q}”` : "No results yet"} icon={q ? undefined : <Hourglass />}>
          {!q &&
            (pipeline.status === "Running"
              ? "The first one appears when a window closes."
              : "Start the pipeline to get results.")}
        </Empty>
      ) : (
        <LiveTable
          label={`Results of ${pipeline.name}`}
          columns={columns}
          all={all}
          shown={shown}
          revision={results.dataUpdatedAt}
          scope={pipeline.id}
          sort={null}
        />
      )}
    </Card>
  );
}
