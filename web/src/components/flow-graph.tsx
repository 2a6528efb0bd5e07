import { useNavigate } from "@tanstack/react-router";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { cn } from "@/lib/cn";
import { rate } from "@/lib/format";
import { type GraphEdge, type GraphNode, layoutGraph } from "@/lib/graph";
import { Dot } from "./status";

const nodeHeight = 52;
const gap = 12;

interface FlowGraphProps {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Who reads whom, left to right. A line moves while rows do, and is wider the more of them there are. */
export function FlowGraph({ nodes, edges }: FlowGraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) {
      return;
    }
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Places depend on names and edges only, so that nothing jumps when a rate changes.
  const shape = JSON.stringify([nodes.map((n) => n.id), edges.map((e) => [e.from, e.to])]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: shape stands for nodes and edges
  const layers = useMemo(() => layoutGraph(nodes, edges), [shape]);

  const byId = new Map(nodes.map((n) => [n.id, n]));
  const tallest = Math.max(1, ...layers.map((l) => l.length));
  const height = tallest * (nodeHeight + gap) - gap;
  const channel = Math.max(48, Math.min(140, width * 0.1));
  const nodeWidth = Math.max(150, (width - channel * (layers.length - 1)) / Math.max(1, layers.length));
  const place = new Map<string, { x: number; y: number }>();
  layers.forEach((layer, column) => {
    const top = (height - (layer.length * (nodeHeight + gap) - gap)) / 2;
    layer.forEach((id, row) => {
      place.set(id, { x: column * (nodeWidth + channel), y: top + row * (nodeHeight + gap) });
    });
  });
  const full = layers.length * nodeWidth + (layers.length - 1) * channel;
  const busiest = Math.max(1, ...nodes.map((n) => n.rate));
  return (
    <div ref={box} className="overflow-x-auto">
      {width > 0 && (
        <div className="relative" style={{ height, width: Math.max(full, width - 1) }}>
          <svg className="absolute inset-0" width={full} height={height} aria-hidden>
            {edges.map((e) => {
              const a = place.get(e.from);
              const b = place.get(e.to);
              const from = byId.get(e.from);
              const to = byId.get(e.to);
              if (!a || !b || !from || !to) {
                return null;
              }
              const x1 = a.x + nodeWidth;
              const y1 = a.y + nodeHeight / 2;
              const y2 = b.y + nodeHeight / 2;
              const bend = Math.max(24, (b.x - x1) / 2);
              const d = `M${x1} ${y1}C${x1 + bend} ${y1} ${b.x - bend} ${y2} ${b.x} ${y2}`;
              const flowing = to.tone === "running" && from.rate > 0;
              return (
                <g key={`${e.from}→${e.to}`} fill="none">
                  <path d={d} stroke="var(--border)" strokeWidth={flowing ? 1 + 3 * Math.sqrt(from.rate / busiest) : 1.25} />
                  {flowing && (
                    <path d={d} className="flowing" stroke={`var(--${from.kind})`} strokeWidth="1.6" strokeLinecap="round" />
                  )}
                </g>
              );
            })}
          </svg>
          {nodes.map((n) => {
            const p = place.get(n.id);
            return p && <Node key={n.id} node={n} style={{ left: p.x, top: p.y, width: nodeWidth, height: nodeHeight }} />;
          })}
        </div>
      )}
    </div>
  );
}

const bars = { source: "bg-source", table: "bg-table", pipeline: "bg-pipeline" };

function Node({ node, style }: { node: GraphNode; style: { left: number; top: number; width: number; height: number } }) {
  const navigate = useNavigate();
  return (
    <button
      type="button"
      onClick={() => void navigate({ to: node.href })}
      className={cn(
        "absolute flex items-center gap-3 overflow-hidden rounded-lg border bg-card pr-3.5 text-left shadow-xs transition-colors hover:border-ring/60 hover:bg-accent/50",
        node.tone === "stopped" && "opacity-60",
      )}
      style={style}
    >
      <span aria-hidden className={cn("h-full w-1 shrink-0", bars[node.kind])} />
      <span className="min-w-0 flex-1">
        <span className="block truncate text-sm leading-tight font-medium">{node.name}</span>
        <span className="block truncate text-xs text-muted-foreground">{node.note}</span>
      </span>
      <span className="flex shrink-0 flex-col items-end gap-1">
        <Dot tone={node.tone} live={node.tone === "running"} className="size-1.5" />
        <span className="text-xs text-muted-foreground tabular-nums">
          {node.tone === "running" ? `${rate(node.rate)}/s` : node.status}
        </span>
      </span>
    </button>
  );
}
