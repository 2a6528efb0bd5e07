import { useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowRight, LoaderCircle } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { Logo } from "@/components/logo";
import { ThemeButton } from "@/components/shell";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Label } from "@/components/ui/label";
import { login } from "@/lib/api";
import { useInstance } from "@/lib/queries";

const demo = [
  { username: "admin", password: "admin123!", name: "Administrator", may: "Everything" },
  { username: "editor", password: "editor123!", name: "Editor", may: "Change sources and queries" },
  { username: "viewer", password: "viewer123!", name: "Viewer", may: "Look around" },
];

export function LoginPage() {
  const { next, ended } = useSearch({ from: "/login" });
  const navigate = useNavigate();
  const instance = useInstance();
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState("");

  useEffect(() => {
    document.title = "Log in · StreamsForge";
  }, []);

  const enter = async (name: string, secret: string) => {
    setBusy(name);
    setError("");
    try {
      await login(name, secret);
      // Only a path of this console is followed, never an address of elsewhere.
      await navigate({ to: next?.startsWith("/") && !next.startsWith("//") ? next : "/" });
    } catch (e) {
      setError(e instanceof Error ? e.message : String(e));
      setBusy(null);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter(username, password);
  };

  return (
    <div className="relative grid min-h-dvh lg:grid-cols-[minmax(0,1.1fr)_minmax(0,1fr)]">
      <Poster />
      <div className="absolute top-4 right-4">
        <ThemeButton />
      </div>
      <main className="flex items-center justify-center px-6 py-16">
        <div className="w-full max-w-sm">
          <div className="mb-8 flex items-center gap-2.5 lg:hidden">
            <Logo className="size-8" />
            <span className="text-lg font-semibold tracking-tight">StreamsForge</span>
          </div>
          <h1 className="text-2xl font-semibold tracking-tight">Log in</h1>
          <p className="mt-1 text-sm text-muted-foreground">
            {instance.data
              ? `${instance.data.name} · version ${instance.data.version}`
              : instance.error
                ? "The server cannot be reached."
                : "\u00a0"}
          </p>
          {ended && !error && (
            <p role="status" className="mt-5 rounded-md border border-degraded/40 bg-degraded/10 px-3 py-2 text-sm">
              Your session has ended. Log in again to go on.
            </p>
          )}
          <form onSubmit={submit} className="mt-6 flex flex-col gap-4">
            <div className="flex flex-col gap-1.5">
              <Label htmlFor="username">User name</Label>
              <Input
                id="username"
                autoComplete="username"
                autoFocus
                required
                value={username}
                onChange={(e) => setUsername(e.target.value)}
                aria-invalid={error !== ""}
              />
            </div>
            <div className="flex flex-col gap-1.5">
              <Label htmlFor="password">Password</Label>
              <Input
                id="password"
                type="password"
                autoComplete="current-password"
                required
                value={password}
                onChange={(e) => setPassword(e.target.value)}
                aria-invalid={error !== ""}
              />
            </div>
            {error && (
              <p role="alert" className="text-sm text-failed">
                {error}
              </p>
            )}
            <Button type="submit" disabled={busy !== null} className="mt-1 h-10">
              {busy === username && busy !== "" ? <LoaderCircle className="animate-spin" /> : null}
              Log in
            </Button>
          </form>
          <div className="my-7 flex items-center gap-3 text-xs text-muted-foreground">
            <span className="h-px flex-1 bg-border" />
            or with a demo login
            <span className="h-px flex-1 bg-border" />
          </div>
          <div className="flex flex-col gap-2">
            {demo.map((d) => (
              <button
                key={d.username}
                type="button"
                disabled={busy !== null}
                onClick={() => void enter(d.username, d.password)}
                className="group flex items-center gap-3 rounded-lg border bg-card px-3.5 py-2.5 text-left shadow-xs transition-colors hover:border-ring/60 hover:bg-accent/50 disabled:opacity-60"
              >
                <span
                  aria-hidden
                  className="grid size-8 place-items-center rounded-full bg-primary/14 text-sm font-semibold text-primary"
                >
                  {d.name.slice(0, 1)}
                </span>
                <span className="flex-1">
                  <span className="block text-sm font-medium">{d.name}</span>
                  <span className="block text-xs text-muted-foreground">{d.may}</span>
                </span>
                {busy === d.username ? (
                  <LoaderCircle className="size-4 animate-spin text-muted-foreground" />
                ) : (
                  <ArrowRight
                    aria-hidden
                    className="size-4 text-muted-foreground transition-transform group-hover:translate-x-0.5"
                  />
                )}
              </button>
            ))}
          </div>
          <p className="mt-4 text-xs text-muted-foreground">
            These work until their passwords are changed. Change them before others can reach this server.
          </p>
        </div>
      </main>
    </div>
  );
}

/** The other half of the page: what this is, in three lines, over a quiet picture of streams. */
function Poster() {
  return (
    <aside className="relative hidden flex-col gap-[9vh] overflow-hidden border-r bg-sidebar p-12 lg:flex">
      <svg
        aria-hidden
        className="absolute inset-x-0 bottom-0 h-[52%] w-full"
        viewBox="0 0 800 600"
        preserveAspectRatio="none"
        fill="none"
      >
        {Array.from({ length: 11 }, (_, i) => {
          const y = 140 + i * 42;
          const swing = 70 - i * 3;
          const d = `M-20 ${y}C 160 ${y - swing}, 260 ${y + swing}, 420 ${y}S 660 ${y - swing * 0.8}, 820 ${y + swing * 0.3}`;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a fixed picture
            <g key={i}>
              <path d={d} stroke="var(--border)" strokeWidth="1.2" />
              {i % 3 === 1 && (
                <path
                  d={d}
                  className="flowing"
                  stroke="var(--primary)"
                  strokeOpacity={0.75 - i * 0.05}
                  strokeWidth="2"
                  strokeLinecap="round"
                />
              )}
            </g>
          );
        })}
      </svg>
      <div className="relative flex items-center gap-3">
        <Logo className="size-9" />
        <span className="text-xl font-semibold tracking-tight">StreamsForge</span>
      </div>
      <div className="relative max-w-md">
        <p className="text-[2.1rem] leading-[1.15] font-semibold tracking-tight text-balance">Streaming SQL that stays right.</p>
        <ul className="mt-5 flex flex-col gap-2 text-sm text-muted-foreground">
          <li>One binary, with the log inside it.</li>
          <li>Tables kept up to date row by row, at one moment for all of them.</li>
          <li>Nothing lost and nothing doubled, through kill -9.</li>
        </ul>
      </div>
    </aside>
  );
}
