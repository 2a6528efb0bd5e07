import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { TableProperties } from "lucide-react";
import { Filter } from "@/components/filter";
import { NewButton } from "@/components/new-button";
import { PageHeader } from "@/components/page-header";
import { Sparkline } from "@/components/sparkline";
import { Empty, ErrorPanel } from "@/components/states";
import { StatusBadge } from "@/components/status";
import { Card } from "@/components/ui/card";
import { SkeletonList } from "@/components/ui/skeleton";
import { Table, TableBody, TableCell, TableHead, TableHeader, TableRow } from "@/components/ui/table";
import { cn } from "@/lib/cn";
import { ago, bytes, count, rate } from "@/lib/format";
import { useTables } from "@/lib/queries";
import { useTableRates } from "@/lib/use-live-rates";

export function TablesPage() {
  const { q = "" } = useSearch({ from: "/shell/tables" });
  const navigate = useNavigate();
  const tables = useTables();
  const shown = (tables.data ?? []).filter((t) => `${t.name} ${t.description} ${t.sql}`.toLowerCase().includes(q.toLowerCase()));
  const rates = useTableRates(shown);
  return (
    <>
      <PageHeader
        title="Tables"
        description="Queries whose answer is kept up to date, row by row."
        actions={
          <>
            <Filter
              label="Filter tables"
              value={q}
              onChange={(v) => void navigate({ to: "/tables", search: v ? { q: v } : {}, replace: true })}
            />
            <NewButton to="/tables/new" label="New table" />
          </>
        }
      />
      <Card className="overflow-x-auto">
        {tables.error && !tables.data ? (
          <ErrorPanel error={tables.error} retry={() => void tables.refetch()} />
        ) : !tables.data ? (
          <SkeletonList />
        ) : shown.length === 0 ? (
          <Empty
            title={tables.data.length === 0 ? "No tables yet" : `No table matches “${q}”`}
            icon={tables.data.length === 0 ? <TableProperties /> : undefined}
          >
            {tables.data.length === 0 && (
              <>
                A name and a SELECT are enough, here or with <code className="font-mono">POST /api/tables</code>.
              </>
            )}
          </Empty>
        ) : (
          <Table>
            <TableHeader>
              <tr>
                <TableHead>Name</TableHead>
                <TableHead>Status</TableHead>
                <TableHead>Reads</TableHead>
                <TableHead className="text-right">Rows</TableHead>
                <TableHead className="text-right">Changes / s</TableHead>
                <TableHead>Last minute</TableHead>
                <TableHead className="text-right">Memory</TableHead>
                <TableHead className="text-right">Last change</TableHead>
              </tr>
            </TableHeader>
            <TableBody>
              {shown.map((t) => {
                const r = rates.get(t.id);
                const m = r?.metrics;
                const inputs = [...t.streamInputs, ...t.tableInputs, ...t.pipelineInputs];
                return (
                  <TableRow key={t.id} className="relative">
                    <TableCell>
                      <Link to="/tables/$key" params={{ key: t.id }} className="font-medium after:absolute after:inset-0">
                        {t.name}
                      </Link>
                      <div
                        className={cn(
                          "max-w-96 truncate text-xs text-muted-foreground",
                          !t.description && "font-mono text-[0.7rem]",
                        )}
                      >
                        {t.description || t.sql}
                      </div>
                    </TableCell>
                    <TableCell className="relative z-[1]">
                      <StatusBadge status={t.status} error={t.error} degraded={t.degraded} staleInputs={t.staleInputs} />
                    </TableCell>
                    <TableCell className="max-w-56 truncate text-muted-foreground">{inputs.join(", ")}</TableCell>
                    <TableCell className="text-right tabular-nums">{m ? count(m.rowCount) : "–"}</TableCell>
                    <TableCell className="text-right font-medium tabular-nums">{rate(r?.rates.at(-1) ?? 0)}</TableCell>
                    <TableCell>
                      <Sparkline values={r?.rates ?? []} color="var(--table)" />
                    </TableCell>
                    <TableCell className="text-right text-muted-foreground tabular-nums">
                      {m ? bytes(m.stateBytes) : "–"}
                    </TableCell>
                    <TableCell className="text-right text-muted-foreground tabular-nums">
                      {m ? ago(m.lastUpdateMs) : "–"}
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
