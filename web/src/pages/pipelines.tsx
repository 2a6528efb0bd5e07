import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Workflow } from "lucide-react";
import { Filter } from "@/components/filter";
import { NewButton } from "@/components/new-button";
import { PageHeader } from "@/components/page-header";
import { Sparkline } from "@/components/sparkline";
import { Empty, ErrorPanel } from "@/components/states";
import { StatusBadge } from "@/components/status";
import { Card } from "@/components/ui/card";
import { SkeletonList } from "@/components/ui/skeleton";
import { cell, count, rate, shownKind } from "@/lib/format";
import { usePipelines, useResults } from "@/lib/queries";
import type { Pipeline } from "@/lib/types";
import { type PipelineRate, usePipelineRates } from "@/lib/use-live-rates";

export function PipelinesPage() {
  const { q = "" } = useSearch({ from: "/shell/pipelines" });
  const navigate = useNavigate();
  const pipelines = usePipelines();
  const shown = (pipelines.data ?? []).filter((p) =>
    `${p.name} ${p.description} ${p.sql}`.toLowerCase().includes(q.toLowerCase()),
  );
  const rates = usePipelineRates(shown);
  return (
    <>
      <PageHeader
        title="Pipelines"
        description="Queries over event time: each result is final when its window closes."
        actions={
          <>
            <Filter
              label="Filter pipelines"
              value={q}
              onChange={(v) => void navigate({ to: "/pipelines", search: v ? { q: v } : {}, replace: true })}
            />
            <NewButton to="/pipelines/new" label="New pipeline" />
          </>
        }
      />
      {pipelines.error && !pipelines.data ? (
        <Card>
          <ErrorPanel error={pipelines.error} retry={() => void pipelines.refetch()} />
        </Card>
      ) : !pipelines.data ? (
        <Card>
          <SkeletonList />
        </Card>
      ) : shown.length === 0 ? (
        <Card>
          <Empty
            title={pipelines.data.length === 0 ? "No pipelines yet" : `No pipeline matches “${q}”`}
            icon={pipelines.data.length === 0 ? <Workflow /> : undefined}
          >
            {pipelines.data.length === 0 && (
              <>
                A name and a SELECT are enough, here or with <code className="font-mono">POST /api/pipelines</code>.
              </>
            )}
          </Empty>
        </Card>
      ) : (
        <div className="grid gap-3 xl:grid-cols-2">
          {shown.map((p) => (
            <PipelineCard key={p.id} pipeline={p} rate={rates.get(p.id)} />
          ))}
        </div>
      )}
    </>
  );
}

function PipelineCard({ pipeline, rate: r }: { pipeline: Pipeline; rate: PipelineRate | undefined }) {
  const results = useResults(pipeline.id, 5, pipeline.status === "Running");
  const m = r?.metrics;
  const columns = pipeline.outputFields.filter((f) => f.name !== "window_start");
  const newest = (results.data ?? []).toReversed();
  return (
    <Card className="relative flex flex-col transition-colors hover:border-ring/50">
      <div className="flex items-start justify-between gap-4 p-5 pb-3">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-2.5">
            <Link to="/pipelines/$key" params={{ key: pipeline.id }} className="font-semibold after:absolute after:inset-0">
              {pipeline.name}
            </Link>
            <span className="relative z-[1]">
              <StatusBadge
                status={pipeline.status}
                error={pipeline.error}
                degraded={pipeline.degraded}
                staleInputs={pipeline.staleInputs}
              />
            </span>
          </div>
          <p className="mt-1 line-clamp-1 font-mono text-xs text-muted-foreground">{pipeline.sql}</p>
        </div>
        <div className="flex shrink-0 items-end gap-3">
          <div className="text-right">
            <div className="text-lg leading-none font-semibold tabular-nums">
              {rate(r?.rates.at(-1) ?? 0)}
              <span className="ml-1 text-xs font-normal text-muted-foreground">/s</span>
            </div>
            <div className="mt-1.5 text-xs text-muted-foreground tabular-nums">
              {m ? `${count(m.totalRowsOut)} results` : "\u00a0"}
            </div>
          </div>
          <Sparkline values={r?.rates ?? []} color="var(--pipeline)" className="w-20" />
        </div>
      </div>
      <div className="mt-auto overflow-hidden rounded-b-xl border-t bg-muted/35">
        {newest.length === 0 ? (
          <p className="px-5 py-4 text-xs text-muted-foreground">
            {pipeline.status === "Running" ? "The first result appears when a window closes." : "Not running."}
          </p>
        ) : (
          <table className="mb-2 w-full text-xs" aria-label={`Latest results of ${pipeline.name}`}>
            <thead>
              <tr className="text-left text-muted-foreground">
                {columns.map((c) => (
                  <th key={c.name} className="px-5 pt-2.5 pb-1 font-medium whitespace-nowrap">
                    {c.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="tabular-nums">
              {newest.slice(0, 3).map((e) => (
                <tr key={e.seq}>
                  {columns.map((c) => (
                    <td key={c.name} className="max-w-48 truncate px-5 py-1 whitespace-nowrap">
                      {cell(e.row[c.name], shownKind(c.name, c.type))}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </Card>
  );
}
