import { ArrowDown, ArrowUp, ChevronsUpDown, KeyRound } from "lucide-react";
import { type CSSProperties, memo, type RefObject, useRef } from "react";
import { cn } from "@/lib/cn";
import { cell, exact, fractionDigits, shownKind } from "@/lib/format";
import { type Change, ChangeTracker, type Column, type Direction, type KeyedRow, nextSort, type Sort } from "@/lib/rows";
import { Table, TableBody, TableCell, TableHead, TableHeader, TableRow } from "./ui/table";

interface LiveTableProps {
  columns: Column[];
  /** The rows of the newest poll, before filter and sort: changes are found among all of them. */
  all: KeyedRow[];
  /** The rows to show, in order. */
  shown: KeyedRow[];
  /** Changes with each poll, so that a re-render in between does not count as one. */
  revision: number;
  /** What makes the rows comparable with those before: another table or page size starts afresh. */
  scope: string;
  keyFields?: string[] | null;
  sort: Sort | null;
  onSort?: (sort: Sort | null) => void;
  label: string;
}

/** A grid whose rows change in place: changed cells light up and fade, new rows do as a whole. */
export function LiveTable({ columns, all, shown, revision, scope, keyFields, sort, onSort, label }: LiveTableProps) {
  const changes = useChanges(all, revision, scope);
  const keys = new Set(keyFields ?? []);
  const weighted = all.some((r) => r.weight !== 1);
  // Decimals of one column stand under each other only when all have the same number of digits.
  const digits = columns.map((c) => (c.kind === "Double" ? fractionDigits(all.map((r) => r.row[c.name])) : 0));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="max-h-[min(70vh,46rem)] overflow-auto" aria-label={label} tabIndex={0}>
      <Table>
        <TableHeader>
          <tr>
            {columns.map((c) => (
              <HeadCell key={c.name} column={c} isKey={keys.has(c.name)} sort={sort} onSort={onSort} />
            ))}
            {weighted && <TableHead className="text-right">copies</TableHead>}
          </tr>
        </TableHeader>
        <TableBody>
          {shown.map((r) => (
            <LiveRow
              key={r.key}
              digits={digits}
              row={r}
              columns={columns}
              keys={keyFields ?? null}
              change={changes.get(r.key)}
              weighted={weighted}
            />
          ))}
        </TableBody>
      </Table>
    </section>
  );
}

function useChanges(all: KeyedRow[], revision: number, scope: string): Map<string, Change> {
  const state: RefObject<{ scope: string; revision: number; tracker: ChangeTracker; changes: Map<string, Change> } | null> =
    useRef(null);
  if (state.current === null || state.current.scope !== scope) {
    state.current = { scope, revision: Number.NaN, tracker: new ChangeTracker(), changes: new Map() };
  }
  if (state.current.revision !== revision) {
    state.current.revision = revision;
    state.current.changes = state.current.tracker.update(all);
  }
  return state.current.changes;
}

const numeric = (c: Column) => c.kind === "Double" || (c.kind === "Long" && shownKind(c.name, c.kind) === "Long");

function HeadCell({
  column,
  isKey,
  sort,
  onSort,
}: {
  column: Column;
  isKey: boolean;
  sort: Sort | null;
  onSort: LiveTableProps["onSort"];
}) {
  const active = sort?.column === column.name;
  const name = (
    <>
      {isKey && <KeyRound aria-label="key" className="size-3 text-primary" />}
      {column.name}
    </>
  );
  const side = numeric(column) && "flex-row-reverse";
  return (
    <TableHead
      aria-sort={active ? (sort.descending ? "descending" : "ascending") : "none"}
      className={cn(numeric(column) && "text-right")}
    >
      {onSort ? (
        <button
          type="button"
          onClick={() => onSort(nextSort(sort, column.name))}
          className={cn(
            "group/sort inline-flex items-center gap-1.5 rounded-sm hover:text-foreground",
            active && "text-foreground",
            side,
          )}
        >
          {name}
          {active ? (
            sort.descending ? (
              <ArrowDown aria-hidden className="size-3" />
            ) : (
              <ArrowUp aria-hidden className="size-3" />
            )
          ) : (
            <ChevronsUpDown aria-hidden className="size-3 opacity-0 group-hover/sort:opacity-60" />
          )}
        </button>
      ) : (
        <span className={cn("inline-flex items-center gap-1.5", side)}>{name}</span>
      )}
    </TableHead>
  );
}

const flashes: Record<Direction | "new", string> = {
  up: "var(--flash-up)",
  down: "var(--flash-down)",
  text: "var(--flash-text)",
  new: "var(--flash-new)",
};

interface LiveRowProps {
  row: KeyedRow;
  columns: Column[];
  keys: string[] | null;
  change: Change | undefined;
  weighted: boolean;
  digits: number[];
}

const LiveRow = memo(
  function LiveRow({ row, columns, keys, change, weighted, digits }: LiveRowProps) {
    return (
      <TableRow data-key={row.key} data-changed={change?.version}>
        {columns.map((c, i) => {
          const value = row.row[c.name];
          const direction = change?.fresh ? "new" : change?.cells.get(c.name);
          return (
            <TableCell
              // A new key restarts the animation when the cell changes again.
              key={`${c.name}/${direction ? change?.version : "still"}`}
              className={cn("p-0", numeric(c) && "text-right", direction && "flash")}
              style={direction ? ({ "--flash": flashes[direction] } as CSSProperties) : undefined}
            >
              <div
                className={cn(
                  "max-w-[28rem] truncate px-4 py-2.5 tabular-nums",
                  (value === null || value === undefined) && "text-muted-foreground italic",
                  c.kind === "Json" && "font-mono text-xs",
                  keys?.includes(c.name) && "font-medium",
                )}
                title={exact(value)}
              >
                {cell(value, shownKind(c.name, c.kind), digits[i])}
              </div>
            </TableCell>
          );
        })}
        {weighted && <TableCell className="text-right text-muted-foreground tabular-nums">{row.weight}</TableCell>}
      </TableRow>
    );
  },
  (a, b) =>
    a.columns === b.columns &&
    a.weighted === b.weighted &&
    a.digits.join() === b.digits.join() &&
    a.change?.version === b.change?.version &&
    a.row.weight === b.row.weight &&
    JSON.stringify(a.row.row) === JSON.stringify(b.row.row),
);
