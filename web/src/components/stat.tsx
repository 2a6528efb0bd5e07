import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

interface StatProps {
  label: string;
  value: ReactNode;
  unit?: string;
  hint?: ReactNode;
  tone?: "default" | "warn";
  chart?: ReactNode;
  className?: string;
}

/** One number with its name, and the recent past beside it where there is one. */
export function Stat({ label, value, unit, hint, tone = "default", chart, className }: StatProps) {
  return (
    <div className={cn("flex min-w-0 flex-col justify-between gap-2 rounded-xl border bg-card p-4 shadow-xs", className)}>
      <div className="text-xs font-medium text-muted-foreground">{label}</div>
      <div className="flex items-end justify-between gap-3">
        <div className="min-w-0">
          <div
            className={cn(
              "truncate text-2xl leading-none font-semibold tracking-tight tabular-nums",
              tone === "warn" && "text-degraded",
            )}
          >
            {value}
            {unit && <span className="ml-1.5 text-sm font-normal tracking-normal text-muted-foreground">{unit}</span>}
          </div>
          {hint && <div className="mt-2 truncate text-xs text-muted-foreground">{hint}</div>}
        </div>
        {chart && <div className="shrink-0 max-sm:hidden">{chart}</div>}
      </div>
    </div>
  );
}
