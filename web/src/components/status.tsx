import { AlertTriangle } from "lucide-react";
import { cn } from "@/lib/cn";
import type { Degraded, Status } from "@/lib/types";
import { Badge, type BadgeVariant } from "./ui/badge";
import { Tooltip } from "./ui/tooltip";

export type Tone = "running" | "stopped" | "failed" | "degraded";

const tones: Record<Tone, string> = {
  running: "bg-running",
  stopped: "bg-stopped",
  failed: "bg-failed",
  degraded: "bg-degraded",
};

/** A small light. Colour is never the only sign: text stands beside it. */
export function Dot({ tone, live = false, className }: { tone: Tone; live?: boolean; className?: string }) {
  return (
    <span aria-hidden className={cn("inline-block size-2 shrink-0 rounded-full", tones[tone], live && "breathe", className)} />
  );
}

export function toneOf(status: Status, degraded?: Degraded | null): Tone {
  if (degraded) {
    return "degraded";
  }
  return status === "Running" ? "running" : status === "Failed" ? "failed" : "stopped";
}

interface StatusBadgeProps {
  status: Status;
  error?: string | null;
  degraded?: Degraded | null;
  staleInputs?: string[] | null;
}

export function StatusBadge({ status, error, degraded, staleInputs }: StatusBadgeProps) {
  const tone = toneOf(status, degraded);
  const badge = (
    <Badge variant={tone as BadgeVariant} tabIndex={error || degraded || staleInputs?.length ? 0 : undefined}>
      <Dot tone={tone} live={status === "Running"} className="size-1.5" />
      {degraded ? "Degraded" : status}
      {staleInputs && staleInputs.length > 0 && <AlertTriangle aria-label="an input is stale" />}
    </Badge>
  );
  const why = error || degraded?.reason || (staleInputs?.length ? `Not moving: ${staleInputs.join(", ")}` : "");
  return why ? <Tooltip label={why}>{badge}</Tooltip> : badge;
}
