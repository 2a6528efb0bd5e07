import type { Tone } from "@/components/status";

export interface GraphNode {
  id: string;
  kind: "source" | "table" | "pipeline";
  name: string;
  note: string;
  href: string;
  tone: Tone;
  status: string;
  /** Rows out per second. */
  rate: number;
}

export interface GraphEdge {
  from: string;
  to: string;
}

/**
 * Places nodes in layers: a node stands one layer right of its furthest input. Within a
 * layer nodes are ordered by the mean place of their inputs, which keeps most lines from
 * crossing.
 */
export function layoutGraph(nodes: GraphNode[], edges: GraphEdge[]): string[][] {
  const inputs = new Map<string, string[]>(nodes.map((n) => [n.id, []]));
  for (const e of edges) {
    if (inputs.has(e.from)) {
      inputs.get(e.to)?.push(e.from);
    }
  }
  const depth = new Map<string, number>();
  const walk = (id: string, path: Set<string>): number => {
    const known = depth.get(id);
    if (known !== undefined) {
      return known;
    }
    if (path.has(id)) {
      return 0; // a cycle cannot be stored; a half-read catalog must not hang the page
    }
    path.add(id);
    const d = Math.max(0, ...(inputs.get(id) ?? []).map((i) => walk(i, path) + 1));
    path.delete(id);
    depth.set(id, d);
    return d;
  };
  for (const n of nodes) {
    walk(n.id, new Set());
  }
  const used = new Set(edges.flatMap((e) => [e.from, e.to]));
  const layers: string[][] = [];
  for (const n of nodes) {
    const d = n.kind === "source" ? 0 : Math.max(depth.get(n.id) ?? 0, 1);
    while (layers.length <= d) {
      layers.push([]);
    }
    layers[d]?.push(n.id);
  }
  // Sources that nobody reads go last.
  layers[0]?.sort((a, b) => Number(!used.has(a)) - Number(!used.has(b)));
  const row = new Map<string, number>();
  for (const layer of layers) {
    const weight = (id: string) => {
      const places = (inputs.get(id) ?? []).map((i) => row.get(i)).filter((r) => r !== undefined);
      return places.length > 0 ? places.reduce((a, b) => a + b, 0) / places.length : Number.MAX_SAFE_INTEGER;
    };
    if (layer !== layers[0]) {
      layer.sort((a, b) => weight(a) - weight(b));
    }
    layer.forEach((id, i) => {
      row.set(id, i / Math.max(1, layer.length));
    });
  }
  return layers;
}
