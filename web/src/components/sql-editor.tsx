import type { EditorView } from "@codemirror/view";
import { useEffect, useImperativeHandle, useRef } from "react";
import type { Mode } from "@/lib/editor";
import { createSqlView, formatView } from "@/lib/sql-codemirror";
import type { Validation } from "@/lib/types";

export interface SqlEditorHandle {
  format: () => Promise<"done" | "errors">;
  focus: () => void;
}

export interface SqlEditorProps {
  initial: string;
  mode: Mode;
  label: string;
  onChange: (sql: string) => void;
  /** The answer to the newest text; null for an empty one. */
  onValidation: (v: Validation | null) => void;
  onSave: () => void;
  onFormat: () => void;
  handle: React.Ref<SqlEditorHandle>;
}

/** Edits one statement. It is the page's one large part, so pages load it when they need it. */
export default function SqlEditor({ initial, handle, ...rest }: SqlEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const props = useRef(rest);
  props.current = rest;
  const first = useRef({ doc: initial, label: rest.label });
  useEffect(() => {
    if (!parent.current) {
      return;
    }
    const v = createSqlView({
      parent: parent.current,
      doc: first.current.doc,
      label: first.current.label,
      mode: () => props.current.mode,
      onChange: (sql) => props.current.onChange(sql),
      onValidation: (found) => props.current.onValidation(found),
      onSave: () => props.current.onSave(),
      onFormat: () => props.current.onFormat(),
    });
    view.current = v;
    v.focus();
    return () => {
      view.current = null;
      v.destroy();
    };
  }, []);
  useImperativeHandle(handle, () => ({
    format: async () => (view.current ? formatView(view.current, props.current.mode) : "done"),
    focus: () => view.current?.focus(),
  }));
  return <div ref={parent} />;
}
