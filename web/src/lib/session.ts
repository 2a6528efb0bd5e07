import { useSyncExternalStore } from "react";
import type { Session } from "./types";

// The login lives in the browser's storage, so that a reload and a second tab keep it.
const key = "sf.session";
const listeners = new Set<() => void>();
let current: Session | null = read();

function read(): Session | null {
  try {
    const text = localStorage.getItem(key);
    return text ? (JSON.parse(text) as Session) : null;
  } catch {
    return null;
  }
}

function announce() {
  for (const l of listeners) {
    l();
  }
}

export function getSession(): Session | null {
  return current;
}

export function setSession(session: Session | null) {
  current = session;
  try {
    if (session) {
      localStorage.setItem(key, JSON.stringify(session));
    } else {
      localStorage.removeItem(key);
    }
  } catch {
    // Without storage the login lasts as long as the page.
  }
  announce();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key === key || event.key === null) {
      current = read();
      announce();
    }
  });
}

export function useSession(): Session | null {
  return useSyncExternalStore(subscribe, getSession);
}

/** Whether the login may change things; the server decides, this only hides what it would refuse. */
export function mayEdit(session: Session | null): boolean {
  return session?.role === "Admin" || session?.role === "Editor";
}
