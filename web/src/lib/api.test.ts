import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, get, login, OfflineError, post, request } from "./api";
import { getSession, mayEdit, setSession } from "./session";

const session = { token: "t0", username: "ann", displayName: "Ann", role: "Editor" as const };

function answer(status: number, body?: unknown) {
  return vi
    .spyOn(globalThis, "fetch")
    .mockImplementation(async () => new Response(body === undefined ? null : JSON.stringify(body), { status }));
}

beforeEach(() => setSession(session));

describe("requests", () => {
  it("carry the token and the environment", async () => {
    localStorage.setItem("sf.environment", "staging");
    const fetch = answer(200, { ok: true });
    expect(await post("/api/x", { a: 1 })).toEqual({ ok: true });
    expect(fetch.mock.calls[0]?.[1]).toMatchObject({
      method: "POST",
      body: '{"a":1}',
      headers: { Authorization: "Bearer t0", "X-StreamsForge-Environment": "staging", "Content-Type": "application/json" },
    });
  });

  it("report refusals in the server's words, or in plain ones when it has none", async () => {
    answer(409, { error: "stop hot_symbols first" });
    await expect(get("/api/x")).rejects.toMatchObject({ status: 409, message: "stop hot_symbols first" });
    answer(404);
    await expect(get("/api/x")).rejects.toThrow("There is no such thing here.");
  });

  it("take an accepted status as an answer", async () => {
    answer(503, { status: "starting" });
    expect(await request("/readyz", { accept: [503] })).toEqual({ status: "starting" });
    await expect(request("/readyz")).rejects.toBeInstanceOf(ApiError);
  });

  it("tell an unreachable server from a refusal", async () => {
    vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("failed to fetch"));
    await expect(get("/api/x")).rejects.toBeInstanceOf(OfflineError);
    expect(getSession()).toEqual(session);
  });
});

describe("the session", () => {
  it("ends with a 401", async () => {
    answer(401);
    await expect(get("/api/tables")).rejects.toMatchObject({ status: 401 });
    expect(getSession()).toBeNull();
    expect(localStorage.getItem("sf.session")).toBeNull();
  });

  it("begins with a login, and a wrong password leaves it as it was", async () => {
    setSession(null);
    answer(401);
    await expect(login("ann", "no")).rejects.toThrow("Wrong user name or password.");
    answer(200, session);
    await login("ann", "yes");
    expect(getSession()?.username).toBe("ann");
    expect(mayEdit(getSession())).toBe(true);
    expect(mayEdit({ ...session, role: "Viewer" })).toBe(false);
  });
});
