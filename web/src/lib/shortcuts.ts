import { useEffect } from "react";

/** Every shortcut of the console; the help dialog lists this table. */
export const shortcuts = [
  { keys: ["g", "o"], does: "Overview", to: "/" },
  { keys: ["g", "s"], does: "Sources", to: "/sources" },
  { keys: ["g", "t"], does: "Tables", to: "/tables" },
  { keys: ["g", "p"], does: "Pipelines", to: "/pipelines" },
  { keys: ["/"], does: "Filter this page" },
  { keys: ["d"], does: "Light or dark" },
  { keys: ["?"], does: "This list" },
] as const;

interface Actions {
  go: (to: string) => void;
  theme: () => void;
  help: () => void;
}

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function useShortcuts({ go, theme, help }: Actions) {
  useEffect(() => {
    let leader = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) {
        return;
      }
      const afterLeader = Date.now() - leader < 1200;
      leader = 0;
      const jump = afterLeader ? shortcuts.find((s) => s.keys[0] === "g" && s.keys[1] === event.key) : undefined;
      if (jump && "to" in jump) {
        event.preventDefault();
        go(jump.to);
      } else if (event.key === "g") {
        leader = Date.now();
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("[data-filter]");
        if (filter) {
          event.preventDefault();
          filter.focus();
        }
      } else if (event.key === "d") {
        theme();
      } else if (event.key === "?") {
        help();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [go, theme, help]);
}
