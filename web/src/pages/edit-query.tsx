import { useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker, useNavigate, useParams } from "@tanstack/react-router";
import { AlignLeft, CircleAlert, CircleCheck, Play, Save, TriangleAlert } from "lucide-react";
import { lazy, Suspense, useCallback, useId, useRef, useState } from "react";
import { PageHeader } from "@/components/page-header";
import type { SqlEditorHandle } from "@/components/sql-editor";
import { Empty, ErrorPanel } from "@/components/states";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Input } from "@/components/ui/input";
import { Label } from "@/components/ui/label";
import { Skeleton } from "@/components/ui/skeleton";
import type { Mode } from "@/lib/editor";
import { usePipeline, useSaveQuery, useTable } from "@/lib/queries";
import { mayEdit, useSession } from "@/lib/session";
import type { Pipeline, Table, Validation } from "@/lib/types";

const SqlEditor = lazy(() => import("@/components/sql-editor"));

export const NewTablePage = () => <EditQuery mode="table" />;
export const NewPipelinePage = () => <EditQuery mode="pipeline" />;

export function EditTablePage() {
  const { key } = useParams({ from: "/shell/tables/$key/edit" });
  return <Loaded mode="table" query={useTable(key)} />;
}

export function EditPipelinePage() {
  const { key } = useParams({ from: "/shell/pipelines/$key/edit" });
  return <Loaded mode="pipeline" query={usePipeline(key)} />;
}

interface Asked {
  data: Table | Pipeline | undefined;
  error: unknown;
  refetch: () => unknown;
}

function Loaded({ mode, query }: { mode: Mode; query: Asked }) {
  if (query.error && !query.data) {
    return (
      <Card>
        <ErrorPanel error={query.error} retry={() => void query.refetch()} />
      </Card>
    );
  }
  return query.data ? <EditQuery mode={mode} entity={query.data} key={query.data.id} /> : <Skeleton className="h-96 w-full" />;
}

const words = {
  table: { title: "New table", list: "Tables", path: "/tables", hint: "A SELECT whose answer is kept up to date." },
  pipeline: {
    title: "New pipeline",
    list: "Pipelines",
    path: "/pipelines",
    hint: "A SELECT over sources in event time; one that groups needs a WINDOW.",
  },
} as const;

/** Writes the definition of a table or pipeline: its name, its description and its statement. */
function EditQuery({ mode, entity }: { mode: Mode; entity?: Table | Pipeline }) {
  const w = words[mode];
  const navigate = useNavigate();
  const client = useQueryClient();
  const session = useSession();
  const save = useSaveQuery(mode, entity);
  const [name, setName] = useState(entity?.name ?? "");
  const [description, setDescription] = useState(entity?.description ?? "");
  const [sql, setSql] = useState(entity?.sql ?? "");
  const [validation, setValidation] = useState<Validation | null>(null);
  const [notice, setNotice] = useState("");
  const editor = useRef<SqlEditorHandle>(null);
  const saved = useRef(false);
  const changed = () =>
    !saved.current &&
    (name !== (entity?.name ?? "") || description !== (entity?.description ?? "") || sql !== (entity?.sql ?? ""));
  useBlocker({
    shouldBlockFn: () => changed() && !window.confirm("Leave without saving?"),
    enableBeforeUnload: changed,
  });
  const ids = useId();
  const format = useCallback(async () => {
    try {
      const outcome = await editor.current?.format();
      setNotice(outcome === "errors" ? "Correct the errors first: a statement with errors is not laid out." : "");
    } catch (error) {
      setNotice(error instanceof Error ? error.message : String(error));
    }
  }, []);
  const running = entity?.status === "Running";
  const title = entity ? `Edit ${entity.name}` : w.title;
  if (!mayEdit(session)) {
    return (
      <>
        <PageHeader title={title} parent={{ to: w.path, label: w.list }} />
        <Card>
          <Empty title="You may not change definitions here">
            It needs the role Editor.{" "}
            <Link to={w.path} className="underline">
              Back to the list
            </Link>
          </Empty>
        </Card>
      </>
    );
  }
  const ready = name.trim() !== "" && sql.trim() !== "" && !save.isPending;
  const submit = async (start: boolean) => {
    if (!ready) {
      return;
    }
    try {
      const answer = await save.mutateAsync({ name: name.trim(), description, sql, start });
      saved.current = true;
      await client.invalidateQueries();
      const to = mode === "table" ? ("/tables/$key" as const) : ("/pipelines/$key" as const);
      await navigate({ to, params: { key: answer.id } });
    } catch {
      // The refusal is shown above the form.
    }
  };
  return (
    <>
      <PageHeader
        title={title}
        parent={{ to: w.path, label: w.list }}
        description={w.hint}
        actions={
          <>
            <Button variant={running ? "default" : "outline"} disabled={!ready} onClick={() => void submit(false)}>
              <Save /> Save
            </Button>
            {!running && (
              <Button disabled={!ready || validation?.ok === false} onClick={() => void submit(true)}>
                <Play /> Save and start
              </Button>
            )}
          </>
        }
      />
      {save.error && (
        <div role="alert" className="mb-4 rounded-xl border border-failed/40 bg-failed/8 px-4 py-3 text-sm">
          {save.error.message}
        </div>
      )}
      <div className="mb-4 grid gap-4 md:grid-cols-2">
        <div className="grid gap-1.5">
          <Label htmlFor={`${ids}name`}>Name</Label>
          <Input id={`${ids}name`} value={name} onChange={(e) => setName(e.target.value)} autoComplete="off" />
        </div>
        <div className="grid gap-1.5">
          <Label htmlFor={`${ids}description`}>Description</Label>
          <Input
            id={`${ids}description`}
            value={description}
            onChange={(e) => setDescription(e.target.value)}
            autoComplete="off"
          />
        </div>
      </div>
      <Card className="mb-4">
        <div className="flex items-center gap-3 border-b px-4 py-2 text-xs text-muted-foreground">
          <span>Ctrl-Space completes</span>
          <span role="status">{notice}</span>
          <Button variant="ghost" size="sm" className="ml-auto" onClick={() => void format()} title="Shift-Alt-F">
            <AlignLeft /> Format
          </Button>
        </div>
        <Suspense fallback={<Skeleton className="m-4 h-64" />}>
          <SqlEditor
            initial={sql}
            mode={mode}
            label="SQL"
            handle={editor}
            onChange={setSql}
            onValidation={setValidation}
            onSave={() => void submit(false)}
            onFormat={() => void format()}
          />
        </Suspense>
      </Card>
      <Findings validation={validation} />
    </>
  );
}

/** What the server says about the statement: its result, or what is wrong with it. */
export function Findings({ validation }: { validation: Validation | null }) {
  if (!validation) {
    return null;
  }
  return (
    <section aria-label="Findings" className="grid gap-2 text-sm">
      {validation.ok && (
        <div className="flex flex-wrap items-center gap-2">
          <CircleCheck aria-hidden className="size-4 text-running" />
          <span>Result</span>
          {validation.outputSchema.map((c) => (
            <Badge key={c.name}>
              {c.name} {c.kind}
            </Badge>
          ))}
          {validation.changelogMode && (
            <span className="text-muted-foreground">
              {validation.changelogMode.mode}
              {validation.changelogMode.key?.length ? ` by ${validation.changelogMode.key.join(", ")}` : ""}
            </span>
          )}
        </div>
      )}
      <ul className="grid gap-2">
        {validation.diagnostics.map((d) => (
          <li key={`${d.line}:${d.column}:${d.code}:${d.message}`} className="flex items-start gap-2">
            {d.severity === "Error" ? (
              <CircleAlert aria-label="Error" className="mt-0.5 size-4 shrink-0 text-failed" />
            ) : (
              <TriangleAlert aria-label="Warning" className="mt-0.5 size-4 shrink-0 text-degraded" />
            )}
            <span>
              <span className="font-mono text-xs text-muted-foreground">
                {d.line}:{d.column}
              </span>{" "}
              {d.message}
              {d.hint && <span className="text-muted-foreground">; {d.hint}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
