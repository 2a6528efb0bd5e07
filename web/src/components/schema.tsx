import { Braces, Brackets, Calendar, Hash, KeyRound, Percent, ToggleLeft, Type } from "lucide-react";
import type { Field, Kind } from "@/lib/types";

const icons: Record<Kind, typeof Type> = {
  String: Type,
  Double: Percent,
  Long: Hash,
  Bool: ToggleLeft,
  Timestamp: Calendar,
  Json: Braces,
};

export function Schema({ fields, keyFields }: { fields: Field[]; keyFields?: string[] | null }) {
  return (
    <ul className="divide-y text-sm">
      {fields.map((f) => (
        <SchemaField key={f.name} field={f} depth={0} isKey={keyFields?.includes(f.name) ?? false} />
      ))}
    </ul>
  );
}

function SchemaField({ field, depth, isKey }: { field: Field; depth: number; isKey: boolean }) {
  const Icon = field.isArray ? Brackets : icons[field.type];
  const children = field.children ?? [];
  return (
    <li>
      <div className="flex items-center gap-3 px-5 py-2.5" style={{ paddingLeft: `${1.25 + depth * 1.5}rem` }}>
        <Icon aria-hidden className="size-4 text-muted-foreground" />
        <span className="font-mono text-[0.84rem]">{field.name}</span>
        {isKey && (
          <span className="inline-flex items-center gap-1 text-xs text-primary">
            <KeyRound aria-hidden className="size-3" /> key
          </span>
        )}
        <span className="ml-auto text-xs text-muted-foreground">
          {field.type}
          {field.isArray ? "[]" : ""}
        </span>
      </div>
      {children.length > 0 && (
        <ul className="divide-y border-t">
          {children.map((c) => (
            <SchemaField key={c.name} field={c} depth={depth + 1} isKey={false} />
          ))}
        </ul>
      )}
    </li>
  );
}
