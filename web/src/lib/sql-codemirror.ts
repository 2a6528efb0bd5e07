import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  insertCompletionText,
  pickedCompletion,
  snippet,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  hoverTooltip,
  keymap,
  lineNumbers,
  placeholder,
  showTooltip,
  type Tooltip,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { complete, findingOf, format, hover, type Mode, moved, signature, validate } from "./editor";
import { isKeyword } from "./sql";
import type { SqlSignature, Validation } from "./types";

// The editor of statements: CodeMirror with the services of the server. Text that comes from the server is set as text,
// never as markup.

const language = StreamLanguage.define<null>({
  name: "sql",
  startState: () => null,
  token(stream) {
    if (stream.match(/^--.*/)) {
      return "comment";
    }
    if (stream.match(/^'(?:[^']|'')*'?/)) {
      return "string";
    }
    if (stream.match(/^\d+(?:\.\d+)?/)) {
      return "number";
    }
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
    if (word) {
      if (isKeyword(word[0])) {
        return "keyword";
      }
      return stream.match(/^\s*\(/, false) ? "variableName.function" : "variableName";
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "--" }, closeBrackets: { brackets: ["(", "'"] } },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--sql-keyword)", fontWeight: "500" },
  { tag: tags.function(tags.variableName), color: "var(--sql-function)" },
  { tag: tags.string, color: "var(--sql-string)" },
  { tag: tags.number, color: "var(--sql-number)" },
  { tag: tags.comment, color: "var(--muted-foreground)", fontStyle: "italic" },
]);

// Colours are the variables of the page, so that light and dark need nothing here.
const theme = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--foreground)", fontSize: "0.84rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6", minHeight: "16rem" },
  ".cm-content": { padding: "0.75rem 0", caretColor: "var(--foreground)" },
  ".cm-cursor": { borderLeftColor: "var(--foreground)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted-foreground)", border: "none" },
  ".cm-placeholder": { color: "var(--muted-foreground)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--ring) 28%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in oklab, var(--ring) 24%, transparent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--popover)",
    color: "var(--foreground)",
    border: "1px solid var(--border)",
    borderRadius: "0.5rem",
    boxShadow: "0 8px 24px rgb(0 0 0 / 0.18)",
    maxWidth: "34rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-mono)", maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.6rem", display: "flex", gap: "1rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-foreground)",
  },
  ".cm-completionDetail": { marginLeft: "auto", color: "var(--muted-foreground)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "0.5rem 0.75rem", fontFamily: "var(--font-sans)", whiteSpace: "pre-wrap" },
  ".cm-sql-tip": { padding: "0.5rem 0.75rem", fontFamily: "var(--font-sans)", fontSize: "0.8rem" },
  ".cm-sql-tip > :first-child": { fontFamily: "var(--font-mono)", fontWeight: "500" },
  ".cm-sql-tip > p": { color: "var(--muted-foreground)", marginTop: "0.15rem" },
  ".cm-sql-active": { color: "var(--primary)", fontWeight: "700" },
  ".cm-diagnostic": { fontFamily: "var(--font-sans)", padding: "0.4rem 0.75rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--failed)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--degraded)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--primary)",
    color: "var(--primary-foreground)",
    borderRadius: "0.3rem",
    padding: "0.1rem 0.5rem",
  },
});

function completions(mode: () => Mode) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    if (!context.explicit && !context.matchBefore(/[\p{L}\p{N}_.]$/u)) {
      return null;
    }
    const stop = new AbortController();
    context.addEventListener("abort", () => stop.abort(), { onDocChange: true });
    try {
      const answer = await complete(context.state.doc.toString(), context.pos, mode(), stop.signal);
      return answer.items.length === 0
        ? null
        : { from: answer.from, to: answer.to, filter: false, options: answer.items.map(option) };
    } catch {
      return null; // An editor without its server is still an editor.
    }
  };
}

function option(item: {
  label: string;
  kind: string;
  insert: string;
  snippet: boolean;
  detail: string;
  doc: string;
}): Completion {
  return {
    label: item.label,
    type: item.kind,
    ...(item.detail && { detail: item.detail }),
    ...(item.doc && { info: item.doc }),
    apply: item.snippet
      ? snippet(item.insert)
      : (view, completion, from, to) => {
          view.dispatch({
            ...insertCompletionText(view.state, item.insert, from, to),
            annotations: pickedCompletion.of(completion),
          });
        },
  };
}

function tip(first: Node, lines: string[]): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "cm-sql-tip";
  const head = document.createElement("div");
  head.append(first);
  dom.append(head);
  for (const line of lines) {
    const p = document.createElement("p");
    p.textContent = line;
    dom.append(p);
  }
  return dom;
}

const hovers = (mode: () => Mode) =>
  hoverTooltip(async (view, pos): Promise<Tooltip | null> => {
    try {
      const answer = await hover(view.state.doc.toString(), pos, mode());
      return answer
        ? {
            pos: answer.from,
            end: answer.to,
            above: true,
            create: () => ({ dom: tip(document.createTextNode(answer.title), answer.lines) }),
          }
        : null;
    } catch {
      return null;
    }
  });

const setSignature = StateEffect.define<Tooltip | null>();

const signatureField = StateField.define<Tooltip | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setSignature)) {
        return effect.value;
      }
    }
    return value && transaction.docChanged ? { ...value, pos: transaction.changes.mapPos(value.pos) } : value;
  },
  provide: (field) => showTooltip.from(field),
});

function signatureTip(answer: SqlSignature): HTMLElement {
  const active = answer.parameters[answer.active];
  const label = document.createDocumentFragment();
  if (active) {
    const mark = document.createElement("span");
    mark.className = "cm-sql-active";
    mark.textContent = answer.label.slice(active.from, active.to);
    label.append(answer.label.slice(0, active.from), mark, answer.label.slice(active.to));
  } else {
    label.append(answer.label);
  }
  label.append(` → ${answer.result}`);
  return tip(label, answer.doc ? [answer.doc] : []);
}

const signaturePeriod = 120;

const signatures = (mode: () => Mode) =>
  ViewPlugin.fromClass(
    class {
      private timer: ReturnType<typeof setTimeout> | undefined;
      private stop = new AbortController();

      update(u: ViewUpdate) {
        if (u.docChanged || u.selectionSet || u.focusChanged) {
          clearTimeout(this.timer);
          this.timer = setTimeout(() => void this.ask(u.view), signaturePeriod);
        }
      }

      private async ask(view: EditorView) {
        this.stop.abort();
        this.stop = new AbortController();
        const { signal } = this.stop;
        const { state } = view;
        let answer: SqlSignature | undefined;
        try {
          if (view.hasFocus && state.selection.main.empty) {
            answer = await signature(state.doc.toString(), state.selection.main.head, mode(), signal);
          }
        } catch {
          // No signature then.
        }
        if (signal.aborted || view.state.doc !== state.doc) {
          return;
        }
        const found = answer;
        if (found || view.state.field(signatureField)) {
          view.dispatch({
            effects: setSignature.of(
              found ? { pos: state.selection.main.head, above: true, create: () => ({ dom: signatureTip(found) }) } : null,
            ),
          });
        }
      }

      destroy() {
        clearTimeout(this.timer);
        this.stop.abort();
      }
    },
  );

/** Turns the findings of the server into marks with their hint and, where there is one, a button for the fix. */
export function marks(text: string, validation: Validation): Diagnostic[] {
  return validation.diagnostics.map((d) => {
    const f = findingOf(text, d);
    return {
      from: f.from,
      to: f.to,
      severity: f.severity,
      message: f.hint ? `${f.message}; ${f.hint}` : f.message,
      actions: f.fix
        ? [
            {
              name: f.fix.title,
              apply: (view: EditorView) => view.dispatch({ changes: f.fix?.changes ?? [], userEvent: "input.fix" }),
            },
          ]
        : [],
    };
  });
}

const checks = (mode: () => Mode, onValidation: (v: Validation | null) => void) =>
  linter(
    async (view) => {
      const text = view.state.doc.toString();
      if (text.trim() === "") {
        onValidation(null);
        return [];
      }
      try {
        const validation = await validate(text, mode());
        if (view.state.doc.toString() === text) {
          onValidation(validation);
        }
        return marks(text, validation);
      } catch {
        return [];
      }
    },
    { delay: 300 },
  );

/** Lays the statement out and keeps the cursor at its place; text with errors stays as it is. */
export async function formatView(view: EditorView, mode: Mode): Promise<"done" | "errors"> {
  const before = view.state.doc.toString();
  const answer = await format(before, mode);
  if (answer.sql === null) {
    forceLinting(view);
    return "errors";
  }
  if (view.state.doc.toString() === before && answer.sql !== before) {
    view.dispatch({
      changes: { from: 0, to: before.length, insert: answer.sql },
      selection: { anchor: moved(before, view.state.selection.main.head, answer.sql) },
      userEvent: "input.format",
    });
  }
  return "done";
}

export interface SqlViewOptions {
  parent: HTMLElement;
  doc: string;
  mode: () => Mode;
  label: string;
  onChange: (sql: string) => void;
  onValidation: (v: Validation | null) => void;
  onSave: () => void;
  onFormat: () => void;
}

const services = new Compartment();

export function createSqlView(o: SqlViewOptions): EditorView {
  const extensions: Extension[] = [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": o.label, spellcheck: "false", autocapitalize: "off" }),
    placeholder("SELECT ... FROM ...   Ctrl-Space completes"),
    language,
    syntaxHighlighting(colours),
    theme,
    services.of([
      autocompletion({ override: [completions(o.mode)], icons: false, maxRenderedOptions: 200 }),
      hovers(o.mode),
      signatureField,
      signatures(o.mode),
      checks(o.mode, o.onValidation),
    ]),
    keymap.of([
      {
        key: "Shift-Alt-f",
        preventDefault: true,
        run: () => {
          o.onFormat();
          return true;
        },
      },
      {
        key: "Mod-s",
        preventDefault: true,
        run: () => {
          o.onSave();
          return true;
        },
      },
      // Tab takes what is offered, and else leaves the editor as everywhere on the page.
      { key: "Tab", run: acceptCompletion },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of((u) => {
      if (u.docChanged) {
        o.onChange(u.state.doc.toString());
      }
    }),
  ];
  return new EditorView({ parent: o.parent, state: EditorState.create({ doc: o.doc, extensions }) });
}
