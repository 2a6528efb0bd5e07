import { ago, bytes, count } from "@/lib/format";
import { Card } from "./ui/card";
import { SkeletonList } from "./ui/skeleton";

/** Every metric that the server reports for an entity, by its wire name. */
export function MetricList({ values }: { values: object | undefined }) {
  if (!values) {
    return (
      <Card>
        <SkeletonList rows={4} />
      </Card>
    );
  }
  return (
    <Card>
      <dl className="grid sm:grid-cols-2 xl:grid-cols-3">
        {Object.entries(values)
          .filter(([, v]) => v !== null && v !== undefined && !(Array.isArray(v) && v.length === 0))
          .map(([name, value]) => (
            <div key={name} className="flex items-baseline justify-between gap-4 border-b px-5 py-3 text-sm">
              <dt className="font-mono text-xs text-muted-foreground">{name}</dt>
              <dd className="truncate text-right font-medium tabular-nums" title={JSON.stringify(value)}>
                {show(name, value)}
              </dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}

function show(name: string, value: unknown): string {
  if (typeof value === "number") {
    return name.endsWith("Ms")
      ? ago(value)
      : name.endsWith("Bytes")
        ? bytes(value)
        : Number.isInteger(value)
          ? count(value)
          : value.toFixed(2);
  }
  if (typeof value === "object") {
    return JSON.stringify(value);
  }
  return String(value);
}
