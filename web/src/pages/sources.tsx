import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { RadioTower } from "lucide-react";
import { Filter } from "@/components/filter";
import { PageHeader } from "@/components/page-header";
import { Sparkline } from "@/components/sparkline";
import { Empty, ErrorPanel } from "@/components/states";
import { Dot } from "@/components/status";
import { Badge } from "@/components/ui/badge";
import { Card } from "@/components/ui/card";
import { SkeletonList } from "@/components/ui/skeleton";
import { Table, TableBody, TableCell, TableHead, TableHeader, TableRow } from "@/components/ui/table";
import { ago, bytes, count, rate } from "@/lib/format";
import { useSources } from "@/lib/queries";
import { useSourceRates } from "@/lib/use-live-rates";

export function SourcesPage() {
  const { q = "" } = useSearch({ from: "/shell/sources" });
  const navigate = useNavigate();
  const sources = useSources();
  const shown = (sources.data ?? []).filter((s) =>
    `${s.name} ${s.kind} ${s.generatorProfile} ${s.description}`.toLowerCase().includes(q.toLowerCase()),
  );
  const rates = useSourceRates(shown);
  return (
    <>
      <PageHeader
        title="Sources"
        description="Where rows come in. Each has a log of its own, and a quarantine for what cannot be read."
        actions={
          <Filter
            label="Filter sources"
            value={q}
            onChange={(v) => void navigate({ to: "/sources", search: v ? { q: v } : {}, replace: true })}
          />
        }
      />
      <Card className="overflow-x-auto">
        {sources.error && !sources.data ? (
          <ErrorPanel error={sources.error} retry={() => void sources.refetch()} />
        ) : !sources.data ? (
          <SkeletonList />
        ) : shown.length === 0 ? (
          <Empty
            title={sources.data.length === 0 ? "No sources yet" : `No source matches “${q}”`}
            icon={sources.data.length === 0 ? <RadioTower /> : undefined}
          >
            {sources.data.length === 0 && (
              <>
                Create one with <code className="font-mono">POST /api/sources</code>.
              </>
            )}
          </Empty>
        ) : (
          <Table>
            <TableHeader>
              <tr>
                <TableHead>Name</TableHead>
                <TableHead>Kind</TableHead>
                <TableHead className="text-right">Rows / s</TableHead>
                <TableHead>Last minute</TableHead>
                <TableHead className="text-right">Rows</TableHead>
                <TableHead className="text-right">Bytes</TableHead>
                <TableHead className="text-right">Quarantine</TableHead>
                <TableHead className="text-right">Last event</TableHead>
              </tr>
            </TableHeader>
            <TableBody>
              {shown.map((s) => {
                const r = rates.get(s.name);
                const m = r?.metrics;
                return (
                  <TableRow key={s.name} className="relative">
                    <TableCell>
                      <div className="flex items-center gap-3">
                        <Dot tone={s.enabled ? "running" : "stopped"} live={s.enabled && (m?.rowsPerSec ?? 0) > 0} />
                        <div>
                          <Link
                            to="/sources/$name"
                            params={{ name: s.name }}
                            className="font-medium after:absolute after:inset-0"
                          >
                            {s.name}
                          </Link>
                          <div className="max-w-80 truncate text-xs text-muted-foreground">{s.description || "\u00a0"}</div>
                        </div>
                      </div>
                    </TableCell>
                    <TableCell>
                      <Badge variant="outline">{s.kind}</Badge>
                      {s.kind === "generator" && <span className="ml-2 text-xs text-muted-foreground">{s.generatorProfile}</span>}
                    </TableCell>
                    <TableCell className="text-right font-medium tabular-nums">{m ? rate(m.rowsPerSec) : "–"}</TableCell>
                    <TableCell>
                      <Sparkline values={r?.rates ?? []} color="var(--source)" />
                    </TableCell>
                    <TableCell className="text-right tabular-nums">{m ? count(m.rowsTotal) : "–"}</TableCell>
                    <TableCell className="text-right text-muted-foreground tabular-nums">
                      {m ? bytes(m.bytesTotal) : "–"}
                    </TableCell>
                    <TableCell className="text-right tabular-nums">
                      {m && m.quarantinedTotal > 0 ? (
                        <Badge variant="degraded">{count(m.quarantinedTotal)}</Badge>
                      ) : (
                        <span className="text-muted-foreground">0</span>
                      )}
                    </TableCell>
                    <TableCell className="text-right text-muted-foreground tabular-nums">
                      {m ? ago(m.lastEventTsMs) : "–"}
                    </TableCell>
                  </TableRow>
                );
              })}
            </TableBody>
          </Table>
        )}
      </Card>
    </>
  );
}
