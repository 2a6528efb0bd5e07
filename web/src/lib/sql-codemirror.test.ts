import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { expect, it } from "vitest";
import { marks } from "./sql-codemirror";
import type { Validation } from "./types";

const validation: Validation = {
  ok: false,
  planSummary: null,
  outputSchema: [],
  changelogMode: null,
  diagnostics: [
    {
      message: 'no column "qyt" in trades',
      line: 1,
      column: 8,
      length: 3,
      severity: "Error",
      code: "unknown-column",
      hint: 'did you mean "qty"?',
      fix: { title: 'Write "qty"', edits: [{ line: 1, column: 8, length: 3, text: "qty" }] },
    },
  ],
};

it("marks a finding with its hint, and a fix is one click", () => {
  const text = "SELECT qyt FROM trades";
  const [mark] = marks(text, validation);
  expect(mark).toMatchObject({ from: 7, to: 10, severity: "error", message: 'no column "qyt" in trades; did you mean "qty"?' });
  expect(mark?.actions?.map((a) => a.name)).toEqual(['Write "qty"']);
  const view = new EditorView({ state: EditorState.create({ doc: text }) });
  mark?.actions?.[0]?.apply(view, 7, 10);
  expect(view.state.doc.toString()).toBe("SELECT qty FROM trades");
  view.destroy();
});
