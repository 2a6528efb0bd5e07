import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Inbox, RotateCcw, ShieldCheck } from "lucide-react";
import { useMemo, useState } from "react";
import { Details } from "@/components/details";
import { LiveTable } from "@/components/live-table";
import { LiveToggle } from "@/components/live-toggle";
import { PageHeader } from "@/components/page-header";
import { Schema } from "@/components/schema";
import { Sparkline } from "@/components/sparkline";
import { Stat } from "@/components/stat";
import { Empty, ErrorPanel } from "@/components/states";
import { Dot } from "@/components/status";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Skeleton, SkeletonList } from "@/components/ui/skeleton";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/components/ui/tabs";
import { ago, bytes, count, rate } from "@/lib/format";
import { sourceMetrics, useQuarantine, useReplayQuarantine, useSource, useSourceEvents, useSourceReplay } from "@/lib/queries";
import { noteRate } from "@/lib/rates";
import { type Column, keyed } from "@/lib/rows";
import { mayEdit, useSession } from "@/lib/session";
import type { Source } from "@/lib/types";

export function SourcePage() {
  const { name } = useParams({ from: "/shell/sources/$name" });
  const { tab = "rows" } = useSearch({ from: "/shell/sources/$name" });
  const navigate = useNavigate();
  const source = useSource(name);
  const metrics = useQuery(sourceMetrics(name));
  const replay = useSourceReplay(name);
  const m = metrics.data;
  const rates = m ? noteRate(`source/${name}`, m.rowsPerSec, metrics.dataUpdatedAt) : [];
  const parent = { to: "/sources", label: "Sources" };
  if (source.error && !source.data) {
    return (
      <>
        <PageHeader title={name} parent={parent} />
        <Card>
          <ErrorPanel error={source.error} retry={() => void source.refetch()} />
        </Card>
      </>
    );
  }
  const s = source.data;
  return (
    <>
      <PageHeader
        title={name}
        parent={parent}
        description={s?.description || (s ? undefined : "\u00a0")}
        badge={
          s && (
            <>
              <Badge variant={s.enabled ? "running" : "stopped"}>
                <Dot tone={s.enabled ? "running" : "stopped"} live={s.enabled} className="size-1.5" />
                {s.enabled ? "Enabled" : "Disabled"}
              </Badge>
              <Badge variant="outline">{s.kind === "generator" ? `generator · ${s.generatorProfile}` : s.kind}</Badge>
            </>
          )
        }
      />
      <div className="mb-6 grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Stat
          label="Rows in"
          value={m ? rate(m.rowsPerSec) : "–"}
          unit="/s"
          hint={m ? `last one ${ago(m.lastEventTsMs)}` : "\u00a0"}
          chart={<Sparkline values={rates} color="var(--source)" label="Rows in, the last minute" />}
        />
        <Stat label="Rows read" value={m ? count(m.rowsTotal) : "–"} hint={m ? `${bytes(m.bytesTotal)} read` : "\u00a0"} />
        <Stat
          label="In quarantine"
          value={m ? count(m.quarantinedTotal) : "–"}
          tone={m && m.quarantinedTotal > 0 ? "warn" : "default"}
          hint={m ? `${count(m.coercedTotal)} fields set to NULL, ${count(m.droppedTotal)} rows dropped` : "\u00a0"}
        />
        <Stat
          label="Log"
          value={replay.data ? bytes(replay.data.retainedBytes) : "–"}
          hint={
            replay.data
              ? `positions ${count(replay.data.firstSeq)} to ${count(replay.data.lastSeq)}${replay.data.persisted ? "" : ", in memory"}`
              : "\u00a0"
          }
        />
      </div>
      {s ? (
        <Tabs
          value={tab}
          onValueChange={(v) => void navigate({ to: ".", search: v === "rows" ? {} : { tab: v }, replace: true })}
        >
          <TabsList>
            <TabsTrigger value="rows">Rows</TabsTrigger>
            <TabsTrigger value="schema">Schema</TabsTrigger>
            <TabsTrigger value="quarantine">
              Quarantine
              {m && m.quarantinedTotal > 0 && <Badge variant="degraded">{count(m.quarantinedTotal)}</Badge>}
            </TabsTrigger>
            <TabsTrigger value="definition">Definition</TabsTrigger>
          </TabsList>
          <TabsContent value="rows">
            <Events source={s} />
          </TabsContent>
          <TabsContent value="schema">
            <Card>
              <Schema fields={s.fields} />
            </Card>
          </TabsContent>
          <TabsContent value="quarantine">
            <QuarantineList name={name} />
          </TabsContent>
          <TabsContent value="definition">
            <Details value={s} />
          </TabsContent>
        </Tabs>
      ) : (
        <Skeleton className="h-80 w-full" />
      )}
    </>
  );
}

function Events({ source }: { source: Source }) {
  const [live, setLive] = useState(true);
  const events = useSourceEvents(source.name, live);
  const rows = useMemo(
    () =>
      keyed(
        (events.data?.events ?? []).map((row) => ({ row, weight: 1 })),
        null,
      ),
    [events.data],
  );
  const columns: Column[] = useMemo(
    () => [
      { name: "_ts", kind: "Timestamp" as const },
      ...source.fields
        .filter((f) => f.name !== "_ts")
        .map((f) => ({ name: f.name, kind: f.isArray ? ("Json" as const) : f.type })),
    ],
    [source.fields],
  );
  if (events.error && !events.data) {
    return (
      <Card>
        <ErrorPanel error={events.error} retry={() => void events.refetch()} />
      </Card>
    );
  }
  return (
    <Card>
      <div className="flex items-center justify-between border-b px-5 py-3">
        <span className="text-sm text-muted-foreground">The newest {rows.length} rows, newest first</span>
        <LiveToggle live={live} onChange={setLive} />
      </div>
      {!events.data ? (
        <SkeletonList />
      ) : rows.length === 0 ? (
        <Empty title="No rows yet" icon={<Inbox />}>
          {source.enabled ? "They appear here as they come in." : "The source is disabled."}
        </Empty>
      ) : (
        <LiveTable
          label={`Rows of ${source.name}`}
          columns={columns}
          all={rows}
          shown={rows}
          revision={events.dataUpdatedAt}
          scope={source.name}
          sort={null}
        />
      )}
    </Card>
  );
}

function payloadText(base64: string): string {
  const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new TextDecoder("utf-8").decode(raw);
}

function QuarantineList({ name }: { name: string }) {
  const list = useQuarantine(name);
  const replay = useReplayQuarantine(name);
  const session = useSession();
  if (list.error && !list.data) {
    return (
      <Card>
        <ErrorPanel error={list.error} retry={() => void list.refetch()} />
      </Card>
    );
  }
  if (!list.data) {
    return (
      <Card>
        <SkeletonList rows={3} />
      </Card>
    );
  }
  if (list.data.entries.length === 0) {
    return (
      <Card>
        <Empty title="Nothing in quarantine" icon={<ShieldCheck />}>
          Rows that cannot be read land here with their original bytes and the reason, and can be replayed.
        </Empty>
      </Card>
    );
  }
  return (
    <Card>
      <div className="flex items-center justify-between gap-3 border-b px-5 py-3 text-sm">
        <span className="text-muted-foreground">
          {count(list.data.entries.length)} of {count(list.data.total)}, with their original bytes
        </span>
        {replay.data && !replay.isPending && (
          <span role="status" className="ml-auto text-xs text-muted-foreground">
            {count(replay.data.replayed)} replayed, {count(replay.data.remaining)} remain
          </span>
        )}
        {replay.error && (
          <span role="alert" className="ml-auto text-xs text-failed">
            {replay.error.message}
          </span>
        )}
        {mayEdit(session) && (
          <Button variant="outline" size="sm" disabled={replay.isPending} onClick={() => replay.mutate(undefined)}>
            <RotateCcw /> Replay all
          </Button>
        )}
      </div>
      <ul className="divide-y">
        {list.data.entries.map((e) => (
          <li key={e.seq} className="flex flex-col gap-2 px-5 py-3.5 text-sm">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Badge variant="degraded">{e.stage}</Badge>
              <span className="font-medium">{e.reason}</span>
              <span className="ml-auto text-xs text-muted-foreground tabular-nums">
                position {e.sourceSeq}, row {e.index}
              </span>
              {mayEdit(session) && (
                <Button
                  variant="ghost"
                  size="icon-sm"
                  aria-label={`Replay entry ${e.seq}`}
                  disabled={replay.isPending}
                  onClick={() => replay.mutate([e.seq])}
                >
                  <RotateCcw />
                </Button>
              )}
            </div>
            <pre className="max-h-32 overflow-auto rounded-md bg-muted px-3 py-2 font-mono text-xs break-all whitespace-pre-wrap">
              {payloadText(e.payloadBase64)}
            </pre>
          </li>
        ))}
      </ul>
    </Card>
  );
}
