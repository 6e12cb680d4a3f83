import { computed } from "@preact/signals";
import {
  type CatalogJson,
  type RunJson,
  type SpanJson,
  VIEW_IDS,
  type ViewId,
  type WorkerJson,
} from "../api/types.gen";
import { catalog, type Place, places } from "./catalog";
import { params, setParams } from "./params";
import type { Params } from "./url";

/** Most captures that Diff compares, and their names. */
export const LETTERS = ["A", "B", "C", "D", "E", "F", "G", "H"] as const;

/**
 * Ids of the selection; "" if there is nothing to choose from. `captures`: spans of Diff, without those that are not chosen;
 * `baseline`, `experimental`: the first and the last of them.
 */
export interface Selection {
  view: ViewId;
  run: string;
  worker: string;
  span: string;
  baseline: string;
  experimental: string;
  captures: readonly string[];
}

/** An item of the URL that does not exist (any more). */
export interface Missing {
  kind: "view" | "run" | "worker" | "span";
  /** The id in the URL. */
  id: string;
}

/** The first item of the URL that does not exist; null: all exist, or the catalog is not loaded yet. */
export function missingOf(found: CatalogJson | null, all: ReadonlyMap<string, Place>, wanted: Params): Missing | null {
  const { view = "", run = "", worker = "", span = "" } = wanted;
  if (view !== "" && !VIEW_IDS.some((id) => id === view)) return { kind: "view", id: view };
  if (!found || found.runs.length === 0) return null;
  const linked = all.get(span);
  const ofRun = linked?.run ?? runOf(found.runs, run);
  if (run !== "" && !ofRun) return { kind: "run", id: run };
  const ofWorker = (ofRun ?? found.runs[0])?.workers.find((item) => item.id === worker) ?? workerOf(ofRun, linked);
  if (worker !== "" && !ofWorker) return { kind: "worker", id: worker };
  return span !== "" && !linked ? { kind: "span", id: span } : null;
}

/**
 * The selection of the URL with defaults: an item that the URL omits is the first of its kind; one that does not exist
 * is "", and so are the items below it. A span that exists decides the run: an old link may name the folder of several jobs.
 */
export function resolve(found: CatalogJson | null, all: ReadonlyMap<string, Place>, wanted: Params): Selection {
  const view = VIEW_IDS.find((id) => id === wanted.view) ?? "overview";
  const missing = missingOf(found, all, wanted)?.kind;
  const runs = missing === "run" ? [] : (found?.runs ?? []);
  const linked = wanted.span ? all.get(wanted.span) : undefined;
  const run = linked?.run ?? runOf(runs, wanted.run) ?? runs[0];
  const workers = missing === "worker" ? [] : (run?.workers ?? []);
  const worker = workers.find((item) => item.id === wanted.worker) ?? workerOf(run, linked) ?? workers[0];
  const spans = missing === "span" ? [] : (worker?.spans ?? []);
  const span = spans.find((item) => item.id === wanted.span) ?? spans[0];
  const chosen = { run: run?.id ?? "", worker: worker?.id ?? "", span: span?.id ?? "" };
  const { baseline, experimental } = sides(all, chosen.span, wanted);
  const between = (wanted.captures ?? "").split(",").filter((id) => all.has(id));
  const captures = [baseline, ...between, experimental].filter(Boolean).slice(0, LETTERS.length);
  return { view, ...chosen, baseline, experimental, captures };
}

/**
 * The run with this id or with a folder of this id; without one, that of this path: links that people write, or of a
 * logdir that was moved.
 */
function runOf(runs: readonly RunJson[], wanted: string | undefined): RunJson | undefined {
  const has = (key: "id" | "label") => (run: RunJson) =>
    run[key] === wanted || run.folders.some((folder) => folder[key] === wanted);
  return runs.find(has("id")) ?? runs.find(has("label"));
}

function workerOf(run: RunJson | undefined, linked: Place | undefined): WorkerJson | undefined {
  return run && linked?.run === run ? linked.worker : undefined;
}

function sideOf(all: ReadonlyMap<string, Place>, token: string | undefined): string | undefined {
  return token && all.has(token) ? token : undefined;
}

/**
 * Default counterpart of a span in Diff: the same rank of the run closest in time, recorded by the same profiler with
 * as many ranks, of the same work; else the closest span of the same worker; else "".
 */
function counterpart(all: ReadonlyMap<string, Place>, span: string): string {
  const from = all.get(span);
  if (!from) return "";
  const near = likeCaptures(all, from).map((place) => ({ place, ms: msFrom(from.span, place.span) }));
  const far = ({ ms }: { ms: number }) => (Number.isNaN(ms) ? Number.MAX_VALUE : Math.abs(ms));
  near.sort((a, b) => far(a) - far(b));
  return near[0]?.place.span.id ?? "";
}

/** The capture recorded last of those that a span is compared with by default; "" if none is later. */
export function lastCapture(all: ReadonlyMap<string, Place>, span: string): string {
  const from = all.get(span);
  if (!from) return "";
  const later = likeCaptures(all, from).map((place) => ({ place, ms: msFrom(from.span, place.span) }));
  const last = later.filter(({ ms }) => ms > 0).sort((a, b) => b.ms - a.ms)[0];
  return last?.place.span.id ?? "";
}

/** Captures that a span may be compared with: the same rank of other runs, else the others of its worker. */
function likeCaptures(all: ReadonlyMap<string, Place>, from: Place): Place[] {
  const rest = [...all.values()].filter((place) => place.span.id !== from.span.id && isAlike(place, from));
  const peers = rest.filter((place) => place.run !== from.run && isPeer(place, from));
  return peers.length > 0 ? peers : rest.filter((place) => place.worker === from.worker);
}

/** Runs of the same work share at least this part of their computing time by kernel type. */
const LEAST_SHARED = 0.5;

/**
 * True if two captures may be of the same work: by the same profiler, none simulated beside a recorded one, of the same
 * kernels; in the same folder if a capture is not read yet.
 */
function isAlike(one: Place, other: Place): boolean {
  if (one.span.format !== other.span.format) return false;
  const [types, others] = [Object.entries(one.run.kernel_types), other.run.kernel_types];
  if (types.length === 0 || Object.keys(others).length === 0) return folderOf(one.run) === folderOf(other.run);
  const shared = types.reduce((sum, [type, share]) => sum + Math.min(share, others[type] ?? 0), 0);
  return isSimulated(one.run) === isSimulated(other.run) && shared >= LEAST_SHARED;
}

const isSimulated = (run: RunJson) => run.workers.some((worker) => worker.spans.some((span) => span.simulated));

/** The folder that holds the first folder of a run. */
function folderOf({ label, folders }: RunJson): string {
  const path = folders[0]?.label ?? label;
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** True for the same rank of a run with as many ranks, or the only worker of each run. */
function isPeer(one: Place, other: Place): boolean {
  const count = other.run.workers.length;
  return one.run.workers.length === count && (one.worker.rank === other.worker.rank || count === 1);
}

/** Time between two captures (ms): by labels, which are known before a capture is read, else by starts; else NaN. */
function msFrom(one: SpanJson, other: SpanJson): number {
  const ms = msOfLabel(other.label) - msOfLabel(one.label);
  if (!Number.isNaN(ms) || one.start_ns === null || other.start_ns === null) return ms;
  return Number(BigInt(other.start_ns) - BigInt(one.start_ns)) / 1e6;
}

/** Time of a label that begins with "2025-06-15 07:00:00"; NaN for others. */
function msOfLabel(label: string): number {
  const [, day, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(label) ?? [];
  return day ? Date.parse(`${day}T${time}Z`) : Number.NaN; // alone it would read "rank 3" as a day in March
}

/** Both sides of Diff. By default the earlier capture is the baseline. */
function sides(
  all: ReadonlyMap<string, Place>,
  span: string,
  wanted: Params,
): { baseline: string; experimental: string } {
  const baseline = sideOf(all, wanted.baseline);
  const experimental = sideOf(all, wanted.experimental);
  if (baseline) return { baseline, experimental: experimental ?? counterpart(all, baseline) };
  if (experimental) return { baseline: counterpart(all, experimental), experimental };
  const pair = [span, counterpart(all, span)];
  const [one, other] = pair.map((id) => all.get(id)?.span);
  if (one && other && msFrom(one, other) < 0) pair.reverse();
  return { baseline: pair[0] ?? "", experimental: pair[1] ?? "" };
}

export const selection = computed<Selection>(() => resolve(catalog.value, places.value, params.value));

export const missing = computed<Missing | null>(() => missingOf(catalog.value, places.value, params.value));

/** The selected span with its run and worker; undefined without a selection. */
export const place = computed<Place | undefined>(() => places.value.get(selection.value.span));

export function openView(view: ViewId, more: Readonly<Record<string, string | null>> = {}): void {
  setParams({ view, ...more }, true);
}

/** Shows the slice of this name that starts `start` ns after `baseNs` (ns since 1970); if unknown, the first one. */
export function openSlice(name: string, baseNs: string, start: unknown, duration: unknown): void {
  const at = typeof start === "number" ? `${BigInt(baseNs) + BigInt(start)},${Number(duration ?? 0)}` : null;
  openView("trace", { find: name, at });
}

/**
 * Compares these captures: the first is the baseline. The pair and the step are chosen anew: other captures may number their
 * steps differently.
 */
export function compareCaptures(spans: readonly string[], step: string | null = null): void {
  const [baseline = null, ...others] = spans;
  const experimental = others.pop() ?? null;
  const between = others.join(",") || null;
  setParams({ baseline, experimental, captures: between, "x.step": step, "x.pair": null }, true);
}

/** Swaps the first two captures of Diff. */
export function swapSides(): void {
  const [first = "", second = "", ...others] = selection.peek().captures;
  compareCaptures([second, first, ...others]);
}

/**
 * A capture to add to those that are compared: one like the first, else another rank of its run, else any other of the same
 * profiler; "" if there is none.
 */
export function nextCapture(all: ReadonlyMap<string, Place>, captures: readonly string[]): string {
  const first = all.get(captures[0] ?? "");
  if (!first) return "";
  const rest = [...all.values()].filter((place) => !captures.includes(place.span.id));
  const like = likeCaptures(all, first);
  const next =
    rest.find((place) => like.includes(place)) ??
    rest.find((place) => place.run === first.run) ??
    rest.find((place) => place.span.format === first.span.format);
  return next?.span.id ?? "";
}

export function chooseRun(run: string): void {
  choose({ run, worker: null, span: null });
}

/** Chooses a worker and its span with the current label, if it has one. */
export function chooseWorker(worker: string): void {
  const label = place.peek()?.span.label;
  const found = place.peek()?.run.workers.find((item) => item.id === worker);
  choose({ worker, span: found?.spans.find((span) => span.label === label)?.id ?? null });
}

export function chooseSpan(span: string): void {
  choose({ span });
}

/** Chooses a capture of any worker. */
export function chooseCapture(span: string): void {
  const found = places.peek().get(span);
  if (found) choose({ worker: found.worker.id, span });
}

/** Changes the selection; resets the captures of Diff if they do not contain the new span. */
function choose(next: Readonly<Record<string, string | null>>): void {
  const wanted = Object.fromEntries(
    Object.entries({ ...params.peek(), ...next }).filter(([, value]) => value !== null),
  );
  const { span, captures } = resolve(catalog.peek(), places.peek(), wanted as Params);
  const none = { baseline: null, experimental: null, captures: null, "x.step": null, "x.pair": null };
  setParams(captures.includes(span) ? next : { ...next, ...none }, true);
}

/** Writes the default selection to the URL, so that a copied link keeps its meaning. */
export function pinSelection(): void {
  const found = catalog.peek();
  if (!found || found.scanning || found.runs.length === 0 || missing.peek()) return;
  const { run, worker, span } = selection.peek();
  setParams({ run, worker, span });
}
