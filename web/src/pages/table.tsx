import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Download, Rows3 } from "lucide-react";
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
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Skeleton, SkeletonList } from "@/components/ui/skeleton";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/components/ui/tabs";
import { download } from "@/lib/download";
import { ago, bytes, count, rate } from "@/lib/format";
import { tableMetrics, useTable, useTableRows } from "@/lib/queries";
import { note } from "@/lib/rates";
import { type Column, filterRows, keyed, type Sort, sortRows, toCsv } from "@/lib/rows";
import type { Table } from "@/lib/types";

export function TablePage() {
  const { key } = useParams({ from: "/shell/tables/$key" });
  const { tab = "rows" } = useSearch({ from: "/shell/tables/$key" });
  const navigate = useNavigate();
  const table = useTable(key);
  const t = table.data;
  const metrics = useQuery({ ...tableMetrics(t?.id ?? key), enabled: t !== undefined });
  const m = metrics.data;
  const rates = m ? note(`table/${m.tableId}`, m.deltasOut, metrics.dataUpdatedAt) : [];
  const parent = { to: "/tables", label: "Tables" };
  if (table.error && !t) {
    return (
      <>
        <PageHeader title={key} parent={parent} />
        <Card>
          <ErrorPanel error={table.error} retry={() => void table.refetch()} />
        </Card>
      </>
    );
  }
  if (!t) {
    return <Skeleton className="h-96 w-full" />;
  }
  const identity =
    t.keyFields === null
      ? "every row is its own key"
      : t.keyFields.length === 0
        ? "one row"
        : `one row for each ${t.keyFields.join(", ")}`;
  return (
    <>
      <PageHeader
        title={t.name}
        parent={parent}
        description={t.description || undefined}
        badge={<StatusBadge status={t.status} error={t.error} degraded={t.degraded} staleInputs={t.staleInputs} />}
        actions={<ControlButton kind="tables" id={t.id} status={t.status} />}
      />
      <Problem table={t} />
      <div className="mb-6 grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Stat label="Rows" value={m ? count(m.rowCount) : "–"} hint={identity} />
        <Stat
          label="Changes"
          value={rate(rates.at(-1) ?? 0)}
          unit="/s"
          hint={m ? `${count(m.deltasOut)} so far` : "\u00a0"}
          chart={<Sparkline values={rates} color="var(--table)" label="Changes, the last minute" />}
        />
        <Stat
          label="Last change"
          value={m ? ago(m.lastUpdateMs) : "–"}
          hint={m && m.epoch >= 0 ? `epoch ${count(m.epoch)}` : "\u00a0"}
        />
        <Stat label="Memory" value={m ? bytes(m.stateBytes) : "–"} hint="operator state and served rows" />
      </div>
      <Tabs value={tab} onValueChange={(v) => void navigate({ to: ".", search: v === "rows" ? {} : { tab: v }, replace: true })}>
        <TabsList>
          <TabsTrigger value="rows">Rows</TabsTrigger>
          <TabsTrigger value="query">Query</TabsTrigger>
          <TabsTrigger value="schema">Schema</TabsTrigger>
          <TabsTrigger value="metrics">Metrics</TabsTrigger>
          <TabsTrigger value="definition">Definition</TabsTrigger>
        </TabsList>
        <TabsContent value="rows">
          <RowsCard table={t} />
        </TabsContent>
        <TabsContent value="query">
          <QueryCard sql={t.sql} inputs={[...t.streamInputs, ...t.tableInputs, ...t.pipelineInputs]} kind="tables" id={t.id} />
        </TabsContent>
        <TabsContent value="schema">
          <Card>
            {t.outputFields.length > 0 ? (
              <Schema fields={t.outputFields} keyFields={t.keyFields} />
            ) : (
              <Empty title="No schema: the query does not compile" />
            )}
          </Card>
        </TabsContent>
        <TabsContent value="metrics">
          <MetricList values={m} />
        </TabsContent>
        <TabsContent value="definition">
          <Details value={t} />
        </TabsContent>
      </Tabs>
    </>
  );
}

function Problem({ table }: { table: Table }) {
  const text = table.error ?? table.degraded?.reason;
  if (!text) {
    return null;
  }
  return (
    <div role="alert" className="mb-4 rounded-xl border border-failed/40 bg-failed/8 px-4 py-3 text-sm">
      {text}
    </div>
  );
}

const pageSizes = [100, 500, 2000];

function RowsCard({ table }: { table: Table }) {
  const { q = "", sort: column, desc } = useSearch({ from: "/shell/tables/$key" });
  const navigate = useNavigate();
  const [live, setLive] = useState(true);
  const [limit, setLimit] = useState(pageSizes[0] ?? 100);
  const rows = useTableRows(table.id, limit, live);
  const columns: Column[] = useMemo(
    () => table.outputFields.map((f) => ({ name: f.name, kind: f.isArray ? ("Json" as const) : f.type })),
    [table.outputFields],
  );
  const all = useMemo(() => keyed(rows.data?.rows ?? [], table.keyFields), [rows.data, table.keyFields]);
  const sort: Sort | null = column && columns.some((c) => c.name === column) ? { column, descending: desc === true } : null;
  const matching = filterRows(all, q);
  const shown = sortRows(matching, sort ?? defaultSort(table, columns));

  const search = (next: { q?: string; sort?: Sort | null }) => {
    const s = next.sort === undefined ? sort : next.sort;
    const text = next.q ?? q;
    void navigate({
      to: ".",
      search: { ...(text ? { q: text } : {}), ...(s ? { sort: s.column, ...(s.descending ? { desc: true } : {}) } : {}) },
      replace: true,
    });
  };

  return (
    <Card>
      <div className="flex flex-wrap items-center gap-3 border-b px-5 py-3">
        <Filter label="Filter rows" value={q} onChange={(v) => search({ q: v })} />
        <span className="text-sm text-muted-foreground tabular-nums" aria-live="off">
          {rows.data
            ? q
              ? `${count(matching.length)} of ${count(all.length)} rows match`
              : `${count(all.length)} of ${count(rows.data.totalRows)} rows`
            : "\u00a0"}
        </span>
        <div className="ml-auto flex items-center gap-2">
          {rows.data && rows.data.totalRows > (pageSizes[0] ?? 0) && (
            <label className="flex items-center gap-2 text-sm text-muted-foreground">
              Show
              <select
                value={limit}
                onChange={(e) => setLimit(Number(e.target.value))}
                className="h-8 rounded-md border bg-card px-2 text-sm text-foreground"
              >
                {pageSizes.map((n) => (
                  <option key={n} value={n}>
                    {n}
                  </option>
                ))}
              </select>
            </label>
          )}
          <Button
            variant="outline"
            size="sm"
            disabled={shown.length === 0}
            onClick={() => download(`${table.name}.csv`, "text/csv", toCsv(columns, shown))}
          >
            <Download /> CSV
          </Button>
          <LiveToggle live={live} onChange={setLive} />
        </div>
      </div>
      {rows.error && !rows.data ? (
        <ErrorPanel error={rows.error} retry={() => void rows.refetch()} />
      ) : !rows.data ? (
        <SkeletonList />
      ) : shown.length === 0 ? (
        <Empty title={q ? `No row matches “${q}”` : "No rows yet"} icon={q ? undefined : <Rows3 />}>
          {!q && (table.status === "Running" ? "They appear as soon as the inputs have any." : "Start the table to fill it.")}
        </Empty>
      ) : (
        <LiveTable
          label={`Rows of ${table.name}`}
          columns={columns}
          all={all}
          shown={shown}
          revision={rows.dataUpdatedAt}
          scope={`${table.id}/${table.revision}/${limit}`}
          keyFields={table.keyFields}
          sort={sort}
          onSort={(s) => search({ sort: s })}
        />
      )}
    </Card>
  );
}

/** A keyed table stands still under its key, so that changes happen in place. */
function defaultSort(table: Table, columns: Column[]): Sort | null {
  const key = table.keyFields?.[0];
  return key && columns.some((c) => c.name === key) ? { column: key, descending: false } : null;
}
