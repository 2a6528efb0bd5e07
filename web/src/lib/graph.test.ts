import { expect, it } from "vitest";
import { type GraphNode, layoutGraph } from "./graph";

const node = (id: string): GraphNode => {
  const kind = id.split("/")[0] as GraphNode["kind"];
  return { id, kind, name: id, note: "", href: "", tone: "running", status: "", rate: 0 };
};

it("stands each node right of its furthest input", () => {
  const layers = layoutGraph(["source/a", "source/b", "table/t", "table/u", "pipeline/p"].map(node), [
    { from: "source/b", to: "table/t" },
    { from: "table/t", to: "table/u" },
    { from: "source/b", to: "table/u" },
    { from: "source/b", to: "pipeline/p" },
    { from: "source/gone", to: "pipeline/p" },
  ]);
  expect(layers).toEqual([["source/b", "source/a"], ["table/t", "pipeline/p"], ["table/u"]]);
});

it("puts a query without inputs beside the others, and ends on a cycle", () => {
  expect(layoutGraph([node("source/a"), node("table/x")], [])).toEqual([["source/a"], ["table/x"]]);
  const cycle = layoutGraph(
    [node("table/x"), node("table/y")],
    [
      { from: "table/x", to: "table/y" },
      { from: "table/y", to: "table/x" },
    ],
  );
  expect(cycle.flat().sort()).toEqual(["table/x", "table/y"]);
});
