import type { CatalogJson, ErrorJson, ProgressJson, ReadingJson, TableJson, ViewJson } from "./types.gen";

/** Parameters of a request. Empty, null and undefined are left out; arrays repeat the name. */
export type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** A failed request. `hint`: what the user can do. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly status: number,
    readonly texts: ErrorJson["texts"] = {},
  ) {
    super(message);
  }
}

/** Wraps anything thrown as ApiError. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("client", String(error), "", 0);
}

/** True if the server has a newer reading of the trace; the view's answer names it. */
export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.code === "stale";
}

// TensorBoard's page has <base href="plugin/npu_profiler/">, with its --path_prefix in front; everything goes there.
const base = () => new URL("api/", document.baseURI);

/** Parameters of all requests: the runs that the user has chosen (state/grouping.ts). */
let common: Query = {};

export function setCommonQuery(query: Query): void {
  common = query;
}

/** URL of a route, for fetch and downloads. */
export function apiUrl(route: string, query: Query = {}): string {
  const url = new URL(route, base());
  for (const [name, value] of Object.entries({ ...common, ...query })) {
    if (value === null || value === undefined || value === "") continue;
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(item));
  }
  return url.href;
}

/** How often a request is sent again. */
const RETRIES = 5;

/** Sends a request (POST changes state); throws ApiError for every failure except an abort. */
async function send(method: "GET" | "POST", route: string, query: Query, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetchPatiently(apiUrl(route, query), {
      method,
      ...(signal ? { signal } : {}),
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const texts = {
      message: { code: "client.no_answer", params: {} },
      hint: { code: "client.is_running", params: {} },
    };
    throw new ApiError("unreachable", "TensorBoard does not respond.", "Check that it is still running.", 0, texts);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** The response; sends the request again when the server says that it lacks memory or descriptors for now (Retry-After). */
async function fetchPatiently(url: string, options: RequestInit): Promise<Response> {
  for (let left = RETRIES; ; left--) {
    const response = await fetch(url, options);
    const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
    if (response.status !== 503 || Number.isNaN(seconds) || left === 0) return response;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    options.signal?.throwIfAborted();
  }
}

const get = (route: string, query: Query = {}, signal?: AbortSignal) => send("GET", route, query, signal);

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as ErrorJson;
    return new ApiError(body.code, body.message, body.hint, response.status, body.texts);
  } catch {
    const status = `${response.status} ${response.statusText}`;
    const texts = { message: { code: "client.status", params: { status } } };
    return new ApiError("http", `The server answered ${status}.`, "", response.status, texts);
  }
}

export async function getJson<T>(route: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await get(route, query, signal)).json()) as T;
}

/** The body of an answer, read in pieces: response.arrayBuffer() keeps a second copy until a garbage collection. */
export async function getBinary(route: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
  const { body } = await get(route, query, signal);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = body?.getReader();
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) chunks.push(next.value);
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  for (const { buffer } of chunks) free(buffer);
  return bytes.buffer;
}

/** Gives memory back at once instead of at the next garbage collection, where the browser can. */
export function free(buffer: ArrayBuffer): void {
  buffer.transfer?.(0);
}

async function postJson<T>(route: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await send("POST", route, query, signal)).json()) as T;
}

export const getCatalog = (signal?: AbortSignal) => getJson<CatalogJson>("catalog", {}, signal);

/** The catalog after a new scan of the logdir. */
export const rescan = (signal?: AbortSignal) => postJson<CatalogJson>("rescan", {}, signal);

/** Progress of all jobs. `seen`: wait for other `changes` than these, at most half a second. */
export const getProgress = (seen: number | null) => getJson<ReadingJson>("progress", { seen });

/** Cancels or resumes reading a stage of some spans, or queues it. */
export const setReading = (
  spans: readonly string[],
  stage: ProgressJson["stage"],
  action: "cancel" | "resume" | "read",
) => postJson<ReadingJson>("reading", { span: spans, stage, do: action });

export const getView = (id: string, query: Query, signal?: AbortSignal) =>
  getJson<ViewJson>(`view/${id}`, query, signal);

export const getTable = (id: string, query: Query, signal?: AbortSignal) =>
  getJson<TableJson>(`table/${id}`, query, signal);
