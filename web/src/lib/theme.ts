import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function isDark() {
  return document.documentElement.classList.contains("dark");
}

export function toggleTheme() {
  const dark = !isDark();
  document.documentElement.classList.toggle("dark", dark);
  try {
    localStorage.setItem("sf.theme", dark ? "dark" : "light");
  } catch {
    // The choice then lasts as long as the page.
  }
  for (const l of listeners) {
    l();
  }
}

export function useDark(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, isDark);
}
