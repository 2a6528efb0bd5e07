import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Validation } from "@/lib/types";
import { Findings } from "./edit-query";

const good: Validation = {
  ok: true,
  diagnostics: [],
  planSummary: "trades",
  outputSchema: [
    { name: "symbol", kind: "String" },
    { name: "total", kind: "Long" },
  ],
  changelogMode: { mode: "Upsert", key: ["symbol"] },
};

it("shows what a good statement gives", () => {
  render(<Findings validation={good} />);
  expect(screen.getByText("symbol String")).toBeTruthy();
  expect(screen.getByText("Upsert by symbol")).toBeTruthy();
});

it("lists what is wrong, with the place and what to do", () => {
  render(
    <Findings
      validation={{
        ...good,
        ok: false,
        outputSchema: [],
        diagnostics: [
          {
            message: 'no column "qyt"',
            line: 2,
            column: 8,
            severity: "Error",
            code: "unknown-column",
            hint: 'did you mean "qty"?',
          },
          { message: "costly", line: 3, column: 1, severity: "Warning", code: "cost", hint: "" },
        ],
      }}
    />,
  );
  expect(screen.getByText("2:8")).toBeTruthy();
  expect(screen.getByText(/did you mean/)).toBeTruthy();
  expect(screen.getByLabelText("Warning")).toBeTruthy();
  expect(screen.queryByText("Result")).toBeNull();
});

it("says nothing about an empty statement", () => {
  const { container } = render(<Findings validation={null} />);
  expect(container.textContent).toBe("");
});
