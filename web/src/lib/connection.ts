import { useSyncExternalStore } from "react";

export type Connection = "online" | "offline";

// One state for the whole console: every request reports how it went.
let state: Connection = "online";
let since = Date.now();
const listeners = new Set<() => void>();

export function reportConnection(next: Connection) {
  if (next === state) {
    return;
  }
  state = next;
  since = Date.now();
  for (const l of listeners) {
    l();
  }
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => state);
}

export function connectionSince(): number {
  return since;
}
