// Requests to the Compute API and to the session of the console, by the cookie of the session.
import * as clock from "./clock.js";

const VERSION = { "OpenStack-API-Version": "compute 2.96", "X-Armillary-Fields": "1" };
const TIMEOUT_MS = 30_000;
const LATE = "There was no answer within 30 seconds. The API, or a service that it asks, may be overloaded or away.";

const took = new WeakMap();
let csrfToken = "";
let onSessionEnd = () => {};

/** Remember what changes must carry, and whom to tell when the session is over. */
export function useSession(session, ended) {
  csrfToken = session?.csrf_token ?? "";
  onSessionEnd = ended;
}

/** A refused or failed request; `status` is 0 when there was no answer, `waitMs` how long to wait before the next. */
export class ApiError extends Error {
  constructor(status, message, { requestId = null, waitMs = 0 } = {}) {
    super(message);
    this.status = status;
    this.requestId = requestId;
    this.waitMs = waitMs;
  }
}

/**
 * Send a request below /v2.1 and return its JSON document, null if there is none. A change that is sent again with the `keys`
 * (a Map) of the first time is done once, also where the answer to the first one was lost.
 */
export async function call(method, path, { query, body, signal, etag, keys } = {}) {
  const answer = await send(method, `/v2.1${path}${queryOf(query)}`, { body, signal, etag, keys });
  if (answer.status === 304) return undefined;
  const document = await documentOf(answer);
  if (etag && document) etag.value = answer.headers.get("ETag");
  return document;
}

/** Return how many milliseconds the services have taken, in all, to answer the requests with a signal. */
export const tookMs = (signal) => took.get(signal) ?? 0;

export const get = (path, query, signal) => call("GET", path, { query, signal });
export const post = (path, body, keys) => call("POST", path, { body, keys });

/** Whether a failed change may have been done all the same. */
export const isUncertain = ({ status }) => !(status >= 400 && status < 500);

/** Send a request of the session (GET, POST, DELETE /ui/session). What was asked for before a change is of another user. */
export async function session(method, body) {
  if (method !== "GET") window.started = {};
  return documentOf(await send(method, "/ui/session", { body }));
}

/** Return the answer to a request that start.js has sent, once; undefined if it has not, or was refused. */
async function started(url) {
  const asked = window.started?.[url];
  if (!asked) return undefined;
  delete window.started[url];
  const answer = await asked.catch(() => undefined);
  return answer?.ok ? answer : undefined;
}

/** Open an endless answer, such as the event stream; the caller reads its body. */
export async function open(path, query, signal) {
  const answer = await fetch(`/v2.1${path}${queryOf(query)}`, {
    headers: VERSION,
    credentials: "same-origin",
    signal,
  });
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

async function send(method, url, { body, signal, etag, keys = new Map() }) {
  const headers = { Accept: "application/json", ...VERSION };
  if (method !== "GET") {
    headers["X-CSRF-Token"] = csrfToken;
    if (url.startsWith("/v2.1/")) headers["Idempotency-Key"] = keyOf(`${method} ${url} ${JSON.stringify(body)}`, keys);
  }
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (etag?.value) headers["If-None-Match"] = etag.value;
  let answer;
  const began = performance.now();
  try {
    const early = method === "GET" && !etag?.value ? await started(url) : undefined;
    answer = early ?? await fetch(url, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any([...(signal ? [signal] : []), AbortSignal.timeout(TIMEOUT_MS)]),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, error.name === "TimeoutError" ? LATE : "The API does not answer.");
  } finally {
    if (signal) took.set(signal, tookMs(signal) + performance.now() - began);
  }
  clock.learn(answer.headers.get("Date"));
  if (answer.ok || answer.status === 304) return answer;
  if (answer.status === 401 && url !== "/ui/session") onSessionEnd();
  throw await errorOf(answer);
}

async function documentOf(answer) {
  try {
    const text = await answer.text();
    return text ? JSON.parse(text) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error.name === "TimeoutError") throw new ApiError(0, LATE);
    throw new ApiError(0, error instanceof SyntaxError ? "Something other than the API answered, such as a proxy." : "The connection broke before the end of the answer.");
  }
}

async function errorOf(answer) {
  const text = await answer.text().catch(() => "");
  const requestId = answer.headers.get("x-openstack-request-id");
  const waitMs = 1000 * (Number(answer.headers.get("Retry-After")) || 0); // a date, which it may be too, is none of ours
  return new ApiError(answer.status, messageIn(text) ?? `The API answered ${answer.status}.`, { requestId, waitMs });
}

/** Return the message of an error document; they have one below a name that says which fault. */
function messageIn(text) {
  try {
    const document = JSON.parse(text);
    if (typeof document.message === "string") return document.message;
    return Object.values(document).find((each) => typeof each?.message === "string")?.message;
  } catch {
    return undefined;
  }
}

function queryOf(query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

/** Return the key of a request, a new one if it has none yet. */
function keyOf(request, keys) {
  if (!keys.has(request)) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    keys.set(request, Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""));
  }
  return keys.get(request);
}
