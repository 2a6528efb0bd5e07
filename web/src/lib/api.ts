import { reportConnection } from "./connection";
import { parseJson } from "./json";
import { getSession, setSession } from "./session";
import type { Session } from "./types";

/** A refusal of the server, with its own words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** The server could not be reached at all. */
export class OfflineError extends Error {
  constructor() {
    super("The server cannot be reached.");
    this.name = "OfflineError";
  }
}

function headers(): Record<string, string> {
  const h: Record<string, string> = { Accept: "application/json" };
  const session = getSession();
  if (session) {
    h.Authorization = `Bearer ${session.token}`;
  }
  let environment: string | null = null;
  try {
    environment = localStorage.getItem("sf.environment");
  } catch {
    // The default environment needs no header.
  }
  if (environment && environment !== "default") {
    h["X-StreamsForge-Environment"] = environment;
  }
  return h;
}

interface RequestOptions {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  /** Statuses that carry an answer all the same, such as 503 of /readyz. */
  accept?: number[];
}

export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const { method = "GET", body, signal, accept = [] } = options;
  const h = headers();
  if (body !== undefined) {
    h["Content-Type"] = "application/json";
  }
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: h,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) {
      throw error;
    }
    reportConnection("offline");
    throw new OfflineError();
  }
  reportConnection("online");
  const text = await response.text();
  if (!response.ok && !accept.includes(response.status)) {
    throw refusal(response.status, text, path);
  }
  return (text === "" ? undefined : parseJson(text)) as T;
}

function refusal(status: number, text: string, path: string): ApiError {
  if (status === 401 && !path.startsWith("/api/auth/login")) {
    setSession(null);
    return new ApiError(status, "Your session has ended. Log in again.");
  }
  let message = "";
  try {
    message = (JSON.parse(text) as { error?: string }).error ?? "";
  } catch {
    // An empty body is how the server says 401 and 404.
  }
  return new ApiError(status, message || statusText(status));
}

function statusText(status: number): string {
  switch (status) {
    case 401:
      return "Wrong user name or password.";
    case 403:
      return "You may not do this.";
    case 404:
      return "There is no such thing here.";
    case 503:
      return "The server is starting or shutting down.";
    default:
      return `The server answered ${status}.`;
  }
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>(path, signal ? { signal } : {});
}

export function post<T>(path: string, body?: unknown): Promise<T> {
  return request<T>(path, { method: "POST", body });
}

export async function login(username: string, password: string): Promise<Session> {
  const session = await post<Session>("/api/auth/login", { username, password });
  setSession(session);
  return session;
}

export async function logout() {
  try {
    await post("/api/auth/logout");
  } catch {
    // The login ends here whether or not the server could be told.
  }
  setSession(null);
}

/** A name as one path segment. */
export function segment(name: string): string {
  return encodeURIComponent(name);
}
