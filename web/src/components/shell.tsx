import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import {
  Activity,
  Database,
  Keyboard,
  LogOut,
  type LucideIcon,
  Menu,
  Moon,
  RadioTower,
  Sun,
  TableProperties,
  User,
  Workflow,
  X,
} from "lucide-react";
import { useCallback, useState } from "react";
import { logout } from "@/lib/api";
import { cn } from "@/lib/cn";
import { useConnection } from "@/lib/connection";
import { useInstance, useReadiness } from "@/lib/queries";
import { resetRates } from "@/lib/rates";
import { useSession } from "@/lib/session";
import { shortcuts, useShortcuts } from "@/lib/shortcuts";
import { toggleTheme, useDark } from "@/lib/theme";
import type { Check, Readiness } from "@/lib/types";
import { Logo } from "./logo";
import { Dot } from "./status";
import { Button } from "./ui/button";
import { Dialog, DialogContent } from "./ui/dialog";
import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuLabel,
  DropdownMenuSeparator,
  DropdownMenuTrigger,
} from "./ui/dropdown-menu";
import { Kbd } from "./ui/kbd";

export function Shell() {
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const navigate = useNavigate();
  const go = useCallback((to: string) => void navigate({ to }), [navigate]);
  const openHelp = useCallback(() => setHelp(true), []);
  useShortcuts({ go, theme: toggleTheme, help: openHelp });
  return (
    <div className="flex min-h-dvh">
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-primary px-3 py-2 text-primary-foreground focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to content
      </a>
      {menu && (
        <button
          type="button"
          aria-label="Close menu"
          className="fixed inset-0 z-20 bg-black/50 lg:hidden"
          onClick={() => setMenu(false)}
        />
      )}
      <Sidebar open={menu} close={() => setMenu(false)} help={openHelp} />
      <div className="flex min-w-0 flex-1 flex-col">
        <div className="flex items-center gap-3 border-b bg-sidebar px-4 py-2.5 lg:hidden">
          <Button variant="ghost" size="icon-sm" aria-label="Menu" onClick={() => setMenu(true)}>
            <Menu />
          </Button>
          <Logo className="size-6" />
          <span className="font-semibold">StreamsForge</span>
        </div>
        <OfflineBanner />
        <main id="main" tabIndex={-1} className="mx-auto w-full max-w-[1500px] flex-1 px-4 py-6 outline-none sm:px-8">
          <Outlet />
        </main>
      </div>
      <Dialog open={help} onOpenChange={setHelp}>
        <DialogContent title="Keyboard shortcuts">
          <ul className="flex flex-col gap-2.5 text-sm">
            {shortcuts.map((s) => (
              <li key={s.does} className="flex items-center justify-between">
                <span>{s.does}</span>
                <span className="flex gap-1">
                  {s.keys.map((k) => (
                    <Kbd key={k}>{k}</Kbd>
                  ))}
                </span>
              </li>
            ))}
          </ul>
        </DialogContent>
      </Dialog>
    </div>
  );
}

const links: { to: string; label: string; icon: LucideIcon; count?: "sources" | "tables" | "pipelines" }[] = [
  { to: "/", label: "Overview", icon: Activity },
  { to: "/sources", label: "Sources", icon: RadioTower, count: "sources" },
  { to: "/tables", label: "Tables", icon: TableProperties, count: "tables" },
  { to: "/pipelines", label: "Pipelines", icon: Workflow, count: "pipelines" },
];

function Sidebar({ open, close, help }: { open: boolean; close: () => void; help: () => void }) {
  const instance = useInstance();
  return (
    <aside
      className={cn(
        "fixed inset-y-0 left-0 z-30 flex h-dvh w-60 shrink-0 flex-col border-r bg-sidebar transition-transform lg:sticky lg:top-0 lg:translate-x-0",
        open ? "translate-x-0" : "-translate-x-full max-lg:invisible",
      )}
    >
      <div className="flex items-center gap-2.5 px-5 pt-5 pb-6">
        <Logo className="size-7" />
        <span className="text-[1.05rem] font-semibold tracking-tight">StreamsForge</span>
        <Button variant="ghost" size="icon-sm" aria-label="Close menu" className="ml-auto lg:hidden" onClick={close}>
          <X />
        </Button>
      </div>
      <nav aria-label="Main" className="flex flex-1 flex-col gap-0.5 px-3">
        {links.map(({ to, label, icon: Icon, count }) => (
          <Link
            key={to}
            to={to}
            onClick={close}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className="flex items-center gap-3 rounded-md px-3 py-2 text-sm font-medium text-muted-foreground transition-colors hover:bg-accent hover:text-foreground data-[status=active]:bg-accent data-[status=active]:text-foreground data-[status=active]:[&_svg]:text-primary"
          >
            <Icon aria-hidden className="size-4" />
            {label}
            {count && (
              <span className="ml-auto text-xs text-muted-foreground tabular-nums">
                {instance.data?.catalogCounts[count] ?? ""}
              </span>
            )}
          </Link>
        ))}
      </nav>
      <div className="flex flex-col gap-3 border-t p-4">
        <Health />
        <div className="flex items-center gap-1">
          <UserMenu />
          <ThemeButton />
          <Button variant="ghost" size="icon-sm" aria-label="Keyboard shortcuts" onClick={help}>
            <Keyboard />
          </Button>
        </div>
      </div>
    </aside>
  );
}

function Health() {
  const connection = useConnection();
  const ready = useReadiness();
  const instance = useInstance();
  const failing = ready.data?.checks.filter((c) => !c.ok) ?? [];
  const offline = connection === "offline";
  const healthy = !ready.data || ready.data.status === "ready";
  const tone = offline ? "failed" : healthy ? "running" : "degraded";
  const text = offline ? "Unreachable" : healthy ? "Healthy" : readinessText(ready.data, failing);
  return (
    <div className="flex items-center gap-2.5 px-1 text-xs" aria-live="polite">
      <Dot tone={tone} live={tone === "running"} />
      <div className="min-w-0">
        <div className="truncate font-medium">{text}</div>
        <div className="truncate text-muted-foreground">
          {instance.data ? `${instance.data.name} · ${instance.data.version}` : "\u00a0"}
        </div>
      </div>
    </div>
  );
}

function readinessText(readiness: Readiness | undefined, failing: Check[]): string {
  switch (readiness?.status) {
    case "starting":
      return failing[0]?.progress ?? "Starting";
    case "draining":
      return "Shutting down";
    default:
      return failing[0]?.progress ?? `${failing[0]?.name ?? "A check"} fails`;
  }
}

function UserMenu() {
  const session = useSession();
  const navigate = useNavigate();
  if (!session) {
    return null;
  }
  return (
    <DropdownMenu>
      <DropdownMenuTrigger asChild>
        <button type="button" className="flex min-w-0 flex-1 items-center gap-2.5 rounded-md p-1 text-left hover:bg-accent">
          <span
            aria-hidden
            className="grid size-7 shrink-0 place-items-center rounded-full bg-primary/15 text-xs font-semibold text-primary"
          >
            {session.displayName.slice(0, 1).toUpperCase()}
          </span>
          <span className="min-w-0 text-xs leading-tight">
            <span className="block truncate font-medium">{session.displayName}</span>
            <span className="block truncate text-muted-foreground">{session.role}</span>
          </span>
        </button>
      </DropdownMenuTrigger>
      <DropdownMenuContent align="start" side="top">
        <DropdownMenuLabel className="flex items-center gap-2">
          <User className="size-3.5" /> {session.username}
        </DropdownMenuLabel>
        <DropdownMenuSeparator />
        <DropdownMenuItem
          onSelect={() => {
            void logout().then(() => {
              resetRates();
              return navigate({ to: "/login", search: {} });
            });
          }}
        >
          <LogOut /> Log out
        </DropdownMenuItem>
      </DropdownMenuContent>
    </DropdownMenu>
  );
}

export function ThemeButton() {
  const dark = useDark();
  return (
    <Button variant="ghost" size="icon-sm" aria-label={dark ? "Light theme" : "Dark theme"} onClick={toggleTheme}>
      {dark ? <Sun /> : <Moon />}
    </Button>
  );
}

function OfflineBanner() {
  const connection = useConnection();
  if (connection === "online") {
    return null;
  }
  return (
    <div role="status" className="flex items-center justify-center gap-2 bg-failed/15 px-4 py-2 text-sm text-failed">
      <Database aria-hidden className="size-4" />
      The server cannot be reached. What you see is the last state; reconnecting…
    </div>
  );
}
