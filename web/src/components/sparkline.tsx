import { useId } from "react";
import { cn } from "@/lib/cn";
import { historyLength } from "@/lib/rates";

interface SparklineProps {
  values: number[];
  className?: string;
  /** The CSS colour of the line; the area below takes it too. */
  color?: string;
  label?: string;
}

/** The last minute of a rate. The newest value is at the right edge, so that lines of different length agree in time. */
export function Sparkline({ values, className, color = "var(--primary)", label }: SparklineProps) {
  const id = useId();
  const width = 120;
  const height = 32;
  const max = Math.max(...values, 1e-9) * 1.15;
  const step = width / (historyLength - 1);
  const points = values.map((v, i) => [width - (values.length - 1 - i) * step, height - 1.5 - (v / max) * (height - 4)] as const);
  const line = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
  const first = points[0];
  const still = values.every((v) => v === 0);
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className={cn("h-8 w-28 overflow-visible", className)}
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      <defs>
        <linearGradient id={id} x1="0" x2="0" y1="0" y2="1">
          <stop offset="0" stopColor={color} stopOpacity="0.28" />
          <stop offset="1" stopColor={color} stopOpacity="0" />
        </linearGradient>
      </defs>
      <path
        d={`M0 ${height - 1.5}H${width}`}
        stroke="var(--border)"
        strokeWidth="1"
        strokeDasharray="2 3"
        vectorEffect="non-scaling-stroke"
      />
      {first && points.length > 1 && !still && (
        <>
          <path d={`${line}L${width} ${height - 1.5}L${first[0].toFixed(2)} ${height - 1.5}Z`} fill={`url(#${id})`} />
          <path d={line} fill="none" stroke={color} strokeWidth="1.5" strokeLinejoin="round" vectorEffect="non-scaling-stroke" />
        </>
      )}
    </svg>
  );
}
