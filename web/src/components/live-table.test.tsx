import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it } from "vitest";
import { type Column, keyed, type Sort, sortRows } from "@/lib/rows";
import { LiveTable } from "./live-table";

const columns: Column[] = [
  { name: "symbol", kind: "String" },
  { name: "trades", kind: "Long" },
];

function Grid({ trades, revision, scope = "t" }: { trades: Record<string, number | null>; revision: number; scope?: string }) {
  const [sort, setSort] = useState<Sort | null>(null);
  const all = keyed(
    Object.entries(trades).map(([symbol, n]) => ({ row: { symbol, trades: n }, weight: 1 })),
    ["symbol"],
  );
  return (
    <LiveTable
      label="Rows"
      columns={columns}
      all={all}
      shown={sortRows(all, sort)}
      revision={revision}
      scope={scope}
      keyFields={["symbol"]}
      sort={sort}
      onSort={setSort}
    />
  );
}

const flashing = () => [...document.querySelectorAll(".flash")].map((e) => e.textContent);
const order = () => [...document.querySelectorAll("tbody tr")].map((r) => r.querySelector("td")?.textContent);

it("lights up exactly the cells that changed", () => {
  const { rerender } = render(<Grid trades={{ AAPL: 1, MSFT: 5 }} revision={1} />);
  expect(flashing()).toEqual([]);
  rerender(<Grid trades={{ AAPL: 2, MSFT: 5 }} revision={2} />);
  expect(flashing()).toEqual(["2"]);
  expect(document.querySelector<HTMLElement>(".flash")?.style.getPropertyValue("--flash")).toBe("var(--flash-up)");
});

it("takes no change from a re-render of the same poll, nor from another scope", () => {
  const { rerender } = render(<Grid trades={{ AAPL: 1 }} revision={1} />);
  rerender(<Grid trades={{ AAPL: 9 }} revision={1} />);
  expect(flashing()).toEqual([]);
  rerender(<Grid trades={{ AAPL: 10 }} revision={2} scope="other" />);
  expect(flashing()).toEqual([]);
});

it("lights up a new row as a whole", () => {
  const { rerender } = render(<Grid trades={{ AAPL: 1 }} revision={1} />);
  rerender(<Grid trades={{ AAPL: 1, TSLA: 3 }} revision={2} />);
  expect(flashing()).toEqual(["TSLA", "3"]);
});

it("sorts by keyboard and says so", async () => {
  const user = userEvent.setup();
  render(<Grid trades={{ MSFT: 5, AAPL: 10, JPM: null }} revision={1} />);
  const head = screen.getByRole("columnheader", { name: "trades" });
  expect(head.getAttribute("aria-sort")).toBe("none");
  within(head).getByRole("button").focus();
  await user.keyboard("{Enter}");
  expect(order()).toEqual(["MSFT", "AAPL", "JPM"]);
  expect(head.getAttribute("aria-sort")).toBe("ascending");
  await user.keyboard("{Enter}");
  expect(order()).toEqual(["AAPL", "MSFT", "JPM"]);
  await user.keyboard("{Enter}");
  expect(order()).toEqual(["MSFT", "AAPL", "JPM"]);
});

it("shows NULL as such and marks the key", () => {
  render(<Grid trades={{ AAPL: null }} revision={1} />);
  expect(screen.getByText("NULL")).toBeTruthy();
  expect(screen.getByLabelText("key")).toBeTruthy();
});
