import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

// A fresh server with the demo world, and a real browser that asks no other host.

const binary = process.env.SF_BINARY;
const executablePath = process.env.SF_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const screenshots = process.env.SF_SCREENSHOTS;

let server: ChildProcess;
let base: string;
let directory: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let foreign: string[];
let broken: string[];

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function until(what: string, condition: () => Promise<boolean>, limitMs = 30_000) {
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(`${what}: not within ${limitMs} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

beforeAll(async () => {
  if (!binary) {
    throw new Error("SF_BINARY names no server: run this by `go tool task test:e2e`");
  }
  if (!executablePath) {
    throw new Error("there is no Chromium: install the Debian package chromium, or name a browser in SF_CHROMIUM");
  }
  directory = mkdtempSync(join(tmpdir(), "streamsforge-e2e-"));
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  server = spawn(binary, ["serve", `--Http:Port=${port}`, "--Nats:Listen=", `--DataDir=${join(directory, "data")}`], {
    cwd: directory,
    stdio: ["ignore", "ignore", "inherit"],
  });
  await until("the server is ready", async () => {
    try {
      return (await fetch(`${base}/readyz`)).ok;
    } catch {
      return false;
    }
  });
  browser = await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
});

afterAll(async () => {
  await browser?.close();
  if (server && server.exitCode === null) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
    expect(server.exitCode).toBe(0);
  }
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(async () => {
  foreign = [];
  broken = [];
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
  page = await context.newPage();
  page.on("request", (r) => {
    if (!r.url().startsWith(base) && !r.url().startsWith("data:") && !r.url().startsWith("blob:")) {
      foreign.push(r.url());
    }
  });
  page.on("pageerror", (e) => broken.push(e.message));
  page.on("console", (m) => {
    // A refused request is logged by the browser itself; the tests cause those on purpose.
    if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) {
      broken.push(m.text());
    }
  });
});

afterEach(async () => {
  await context.close();
  expect(foreign).toEqual([]);
  expect(broken).toEqual([]);
});

async function shot(name: string) {
  if (screenshots) {
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: join(screenshots, `${name}.png`) });
  }
}

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

async function enter(path = "/", as = "Administrator") {
  await page.goto(base + path);
  await page
    .getByRole("button", { name: new RegExp(`^A?${as}|${as}`) })
    .first()
    .click();
}

describe("logging in", () => {
  it("refuses a wrong password in words and stays", async () => {
    await page.goto(`${base}/tables`);
    await page.getByLabel("User name").fill("admin");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("alert").getByText("Wrong user name or password.").waitFor();
  });

  it("works with a password and leads to where one wanted to be", async () => {
    await page.goto(`${base}/tables`);
    await page.getByLabel("User name").fill("viewer");
    await page.getByLabel("Password").fill("viewer123!");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Tables" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/tables");
  });

  it("ends when the token is no longer good, and comes back to the same page", async () => {
    await enter("/sources");
    await page.getByRole("link", { name: "trades", exact: true }).waitFor();
    await page.evaluate(() => {
      const session = JSON.parse(localStorage.getItem("sf.session") ?? "{}");
      localStorage.setItem("sf.session", JSON.stringify({ ...session, token: "not-a-token" }));
    });
    await page.reload();
    await page.getByText("Your session has ended").waitFor();
    await page.getByRole("button", { name: /Viewer/ }).click();
    await page.getByRole("link", { name: "trades", exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/sources");
  });
});

describe("the demo world", () => {
  it("moves: rows come in, and the table changes in place", async () => {
    await enter();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("All checks pass").waitFor();
    await page.getByRole("button", { name: /positions/ }).click();
    await page.getByRole("heading", { name: "positions" }).waitFor();

    const rows = page.getByRole("region", { name: "Rows of positions" });
    const apple = rows.locator("tr", { has: page.getByRole("cell", { name: "AAPL" }) });
    await apple.waitFor();
    const trades = async () => Number((await apple.locator("td").nth(1).textContent())?.replaceAll(",", ""));
    const before = await trades();
    await until("the trades of AAPL grow", async () => (await trades()) > before);
    await until("a cell lights up", async () => (await rows.locator(".flash").count()) > 0);
    await shot("table");

    // Held still, nothing changes while the server goes on.
    await page.getByRole("button", { name: /^Live/ }).click();
    await page.getByRole("button", { name: /^Paused/ }).waitFor();
    const held = await rows.textContent();
    const seq = async () => {
      const token = await page.evaluate(() => JSON.parse(localStorage.getItem("sf.session") ?? "{}").token);
      const answer = await fetch(`${base}/api/tables/positions/rows`, { headers: { Authorization: `Bearer ${token}` } });
      return ((await answer.json()) as { seq: number }).seq;
    };
    const at = await seq();
    await until("the server goes on", async () => (await seq()) > at + 3);
    expect(await rows.textContent()).toBe(held);
  });

  it("can be filtered and sorted, and the address says how", async () => {
    await enter("/tables");
    await page.getByRole("link", { name: "positions" }).click();
    const rows = page.getByRole("region", { name: "Rows of positions" });
    await until("all symbols are there", async () => (await rows.locator("tbody tr").count()) === 8);
    await rows.getByRole("button", { name: "symbol" }).click();
    await rows.getByRole("button", { name: "symbol" }).click();
    await until(
      "descending order",
      async () => (await rows.locator("tbody tr").first().textContent())?.startsWith("TSLA") ?? false,
    );
    await page.keyboard.press("/");
    await page.keyboard.type("a");
    await page.keyboard.type("a");
    await until("one row matches", async () => (await rows.locator("tbody tr").count()) === 1);
    expect(new URL(page.url()).search).toBe("?q=aa&sort=symbol&desc=true");
    await page.reload();
    await until("a reload keeps it", async () => (await rows.locator("tbody tr").count()) === 1);
  });

  it("shows sources with rates, their rows and their schema", async () => {
    await enter("/sources");
    const row = page.getByRole("row", { name: /trades/ }).first();
    await until("a rate", async () => Number(await row.locator("td").nth(2).textContent()) > 0);
    await shot("sources");
    await page.getByRole("link", { name: "trades", exact: true }).click();
    await page
      .getByRole("region", { name: "Rows of trades" })
      .getByRole("cell", { name: /BUY|SELL/ })
      .first()
      .waitFor();
    await page.getByRole("tab", { name: "Schema" }).click();
    await page.getByText("venue", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Quarantine" }).click();
    await page.getByText("Nothing in quarantine").waitFor();
  });

  it("shows pipelines with their newest results", async () => {
    await enter("/pipelines");
    await page.getByRole("table", { name: "Latest results of VWAP by symbol (5s)" }).waitFor({ timeout: 40_000 });
    await shot("pipelines");
    await page.getByRole("link", { name: "VWAP by symbol (5s)" }).click();
    await page
      .getByRole("region", { name: /^Results of VWAP/ })
      .locator("tbody tr")
      .first()
      .waitFor();
    await page.getByRole("tab", { name: "Query" }).click();
    await page.getByText("TUMBLING").waitFor();
  });

  it("lets an editor stop and start a table, and a viewer only look", async () => {
    await enter("/tables", "Viewer");
    await page.getByRole("link", { name: "positions" }).click();
    await page.getByRole("tab", { name: "Rows" }).waitFor();
    expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);
    await page.getByRole("button", { name: /Viewer/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();

    await page.getByRole("button", { name: /^E?Editor/ }).click();
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: /Tables/ })
      .click();
    await page.getByRole("link", { name: "order_states" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
  });
});

describe("writing a statement", () => {
  const editor = () => page.getByRole("textbox", { name: "SQL" });
  const offered = (label: string) => page.locator(".cm-tooltip-autocomplete li", { hasText: label }).first();
  const text = async () => (await page.locator(".cm-line").allTextContents()).join("\n");

  it("completes, checks, fixes and lays out, and a saved table has rows", async () => {
    await enter("/tables", "Editor");
    await page.getByRole("link", { name: "New table" }).click();
    await page.getByLabel("Name").fill("by_venue");
    await editor().click();

    // Relations after FROM, then the columns of the relation in the select list.
    await page.keyboard.type("select  from tra");
    await offered("trades").click();
    await until("the name is complete", async () => (await text()) === "select  from trades");
    await page.keyboard.press("Home");
    for (let i = 0; i < "select ".length; i++) {
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.type("ven");
    await offered("venue").waitFor();
    await shot("editor-completion");
    await offered("venue").click();
    await page.keyboard.type(", SUM(");
    await page.locator(".cm-sql-tip", { hasText: "SUM(x)" }).waitFor();
    await page.keyboard.type("qyt");
    await page.keyboard.press("Escape");
    await page.keyboard.press("End");
    await page.keyboard.type(" group by venue");
    await page.keyboard.press("Escape");

    // A wrong name is underlined and explained; the fix of the server is one click.
    await page.getByText('no column "qyt"').first().waitFor();
    await page.locator(".cm-lintRange-error").first().hover();
    await page.getByRole("button", { name: /qty/ }).click();
    await page.getByText("Upsert by venue").waitFor();
    await page.keyboard.press("Shift+Alt+F");
    await until(
      "the statement is laid out",
      async () => (await text()) === "SELECT venue, SUM(qty)\nFROM trades\nGROUP BY venue",
    );
    await page.locator(".cm-line span", { hasText: "SUM" }).first().hover();
    await page.locator(".cm-tooltip-hover", { hasText: "Exact sum of the numbers" }).waitFor();
    await shot("editor");

    await page.getByRole("button", { name: "Save and start" }).click();
    await page.getByRole("heading", { name: "by_venue" }).waitFor();
    const rows = page.getByRole("region", { name: "Rows of by_venue" });
    await until("rows", async () => (await rows.locator("tbody tr").count()) > 1);

    // The statement of what runs can be changed.
    await page.getByRole("tab", { name: "Query" }).click();
    await page.getByRole("link", { name: "Edit SQL" }).click();
    await page.getByRole("heading", { name: "Edit by_venue" }).waitFor();
    await until("the statement is there", async () => (await text()).startsWith("SELECT venue"));

    // Changes are not lost by a wrong click.
    await page.keyboard.type("-- ");
    let asked = "";
    page.once("dialog", (dialog) => {
      asked = dialog.message();
      void dialog.dismiss();
    });
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: /Sources/ })
      .click();
    await until("the question", async () => asked === "Leave without saving?");
    await page.getByRole("heading", { name: "Edit by_venue" }).waitFor();
  });

  it("is for those who may change definitions", async () => {
    await enter("/tables", "Viewer");
    await page.getByRole("link", { name: "positions" }).waitFor();
    expect(await page.getByRole("link", { name: "New table" }).count()).toBe(0);
    await page.goto(`${base}/tables/new`);
    await page.getByText("You may not change definitions here").waitFor();
  });
});

describe("the shell", () => {
  it("is worked by keyboard and has two themes", async () => {
    await enter();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await until("the graph", async () => (await page.getByRole("button", { name: /positions/ }).count()) > 0);
    await shot("overview-dark");
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("heading", { name: "Pipelines" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    expect(await page.evaluate(() => document.documentElement.classList.contains("dark"))).toBe(false);
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await shot("overview-light");
  });

  it("has no serious accessibility fault on any page, in either theme", async () => {
    // Colours on their way from one theme to the other are nobody's contrast.
    await page.emulateMedia({ reducedMotion: "reduce" });
    const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.goto(`${base}/login`);
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    const faults = async () => {
      await page.evaluate(source);
      return await page.evaluate(async () => {
        const found = await (window as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run();
        return found.violations
          .filter((v) => v.impact === "serious" || v.impact === "critical")
          .map((v) => `${location.pathname} ${v.id}: ${v.nodes.map((n) => n.html).join(" | ")}`);
      });
    };
    const problems = await faults();
    await page.getByRole("button", { name: /Administrator/ }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    for (const { path, shows } of [
      { path: "/", shows: "All checks pass" },
      { path: "/sources", shows: "Synthetic trade prints" },
      { path: "/sources/trades", shows: "newest first" },
      { path: "/sources/trades?tab=quarantine", shows: "Nothing in quarantine" },
      { path: "/tables", shows: "order_states" },
      { path: "/tables/positions", shows: "AAPL" },
      { path: "/tables/positions?tab=metrics", shows: "stateBytes" },
      { path: "/pipelines", shows: "fill-rate-5s" },
      { path: "/pipelines/new", shows: "Ctrl-Space completes" },
    ]) {
      await page.goto(base + path);
      await page.getByText(shows).first().waitFor();
      problems.push(...(await faults()));
      // A page that begins in a field would take the key as text.
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press("d");
      problems.push(...(await faults()));
    }
    expect(problems).toEqual([]);
  }, 240_000);

  it("says when the server cannot be reached, and recovers", async () => {
    await enter();
    await page.getByText("All checks pass").waitFor();
    await context.setOffline(true);
    await page.getByText("The server cannot be reached. What you see is the last state").waitFor();
    await shot("offline");
    await context.setOffline(false);
    await until(
      "the banner goes",
      async () => (await page.getByText("The server cannot be reached. What you see").count()) === 0,
    );
  });

  it("answers an unknown page and an unknown entity in words", async () => {
    await enter("/tables/nothing-here");
    await page.getByText("Not found").waitFor();
    await page.goto(`${base}/nowhere`);
    await page.getByText("There is no such page").waitFor();
  });
});
