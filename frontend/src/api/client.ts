import type { CatalogJson, ErrorJson, ProgressJson, RankStepJson, ReadingJson, TableJson, ViewJson } from "./types.gen";

/** Parameters of a request. Empty, null and undefined are left out; arrays repeat the name. */
export type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** What the server, or the way to it, said. `hint`: what can be done. */
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

/** What was thrown, as an error of a request. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("client", String(error), "", 0);
}

/** The server has another reading of the trace than the one asked about: the view tells which. */
export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.code === "stale";
}

// TensorBoard's page has <base href="plugin/npu_profiler/">, with its --path_prefix in front; everything goes there.
const base = () => new URL("api/", document.baseURI);

/** Address of a route, for fetch and for downloads. */
export function apiUrl(route: string, query: Query = {}): string {
  const url = new URL(route, base());
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(item));
  }
  return url.href;
}

/** POST for what changes something, else GET; throws ApiError for every failure but an abort. */
async function send(method: "GET" | "POST", route: string, query: Query, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(apiUrl(route, query), { method, ...(signal ? { signal } : {}), credentials: "same-origin" });
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

export const get = (route: string, query: Query = {}, signal?: AbortSignal) => send("GET", route, query, signal);

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

export async function getBinary(route: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(route, query, signal)).arrayBuffer();
}

export async function postJson<T>(route: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await send("POST", route, query, signal)).json()) as T;
}

export const getCatalog = (signal?: AbortSignal) => getJson<CatalogJson>("catalog", {}, signal);

/** The catalog; the server looks at the logdir again. */
export const rescan = (signal?: AbortSignal) => postJson<CatalogJson>("rescan", {}, signal);

export const getProgress = (signal?: AbortSignal) => getJson<ReadingJson>("progress", {}, signal);

/** Cancel or resume reading a stage of some spans. */
export const setReading = (spans: readonly string[], stage: ProgressJson["stage"], action: "cancel" | "resume") =>
  postJson<ReadingJson>("reading", { span: spans, stage, do: action });

export const getView = (id: string, query: Query, signal?: AbortSignal) =>
  getJson<ViewJson>(`view/${id}`, query, signal);

export const getTable = (id: string, query: Query, signal?: AbortSignal) =>
  getJson<TableJson>(`table/${id}`, query, signal);

export const getRanks = (run: string, signal?: AbortSignal) =>
  getJson<{ ranks: RankStepJson[] }>("ranks", { run }, signal);
