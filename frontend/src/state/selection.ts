import { computed } from "@preact/signals";
import { type CatalogJson, type RunJson, VIEW_IDS, type ViewId, type WorkerJson } from "../api/types.gen";
import { catalog, type Place, places } from "./catalog";
import { params, setParams } from "./params";
import type { Params } from "./url";

/** Tokens of what is looked at; "" where there is nothing to choose from. `baseline`, `experimental`: spans of Diff. */
export interface Selection {
  view: ViewId;
  run: string;
  worker: string;
  span: string;
  baseline: string;
  experimental: string;
}

/** What the address names and is not there (any more). */
export interface Missing {
  kind: "view" | "run" | "worker" | "span";
  /** As the address writes it. */
  id: string;
}

/** The first thing that the address names and is not there; null: all of it is, or nothing is known yet. */
export function missingOf(found: CatalogJson | null, all: ReadonlyMap<string, Place>, wanted: Params): Missing | null {
  const { view = "", run = "", worker = "", span = "" } = wanted;
  if (view !== "" && !VIEW_IDS.some((id) => id === view)) return { kind: "view", id: view };
  if (!found || found.runs.length === 0) return null;
  const linked = all.get(span);
  const ofRun = found.runs.find((item) => item.id === run) ?? linked?.run;
  if (run !== "" && !ofRun) return { kind: "run", id: run };
  const ofWorker = (ofRun ?? found.runs[0])?.workers.find((item) => item.id === worker) ?? workerOf(ofRun, linked);
  if (worker !== "" && !ofWorker) return { kind: "worker", id: worker };
  return span !== "" && !linked ? { kind: "span", id: span } : null;
}

/**
 * What the URL asks for, completed: what it does not name is the first of its kind, what it names and is not there is "",
 * and so is what stands below that.
 */
export function resolve(found: CatalogJson | null, all: ReadonlyMap<string, Place>, wanted: Params): Selection {
  const view = VIEW_IDS.find((id) => id === wanted.view) ?? "overview";
  const missing = missingOf(found, all, wanted)?.kind;
  const runs = missing === "run" ? [] : (found?.runs ?? []);
  const linked = wanted.span ? all.get(wanted.span) : undefined;
  const run = runs.find((item) => item.id === wanted.run) ?? linked?.run ?? runs[0];
  const workers = missing === "worker" ? [] : (run?.workers ?? []);
  const worker = workers.find((item) => item.id === wanted.worker) ?? workerOf(run, linked) ?? workers[0];
  const spans = missing === "span" ? [] : (worker?.spans ?? []);
  const span = spans.find((item) => item.id === wanted.span) ?? spans[0];
  const chosen = { run: run?.id ?? "", worker: worker?.id ?? "", span: span?.id ?? "" };
  return { view, ...chosen, ...sides(all, chosen.span, wanted) };
}

function workerOf(run: RunJson | undefined, linked: Place | undefined): WorkerJson | undefined {
  return run && linked?.run === run ? linked.worker : undefined;
}

function sideOf(all: ReadonlyMap<string, Place>, token: string | undefined): string | undefined {
  return token && all.has(token) ? token : undefined;
}

/** What to compare with when nobody said: the same rank of another run, else another worker, else another span. */
function other(all: ReadonlyMap<string, Place>, span: string): string {
  const from = all.get(span);
  if (!from) return "";
  const rest = [...all.values()].filter((place) => place.span.id !== span);
  const peers = rest.filter((place) => place.run !== from.run && place.worker.rank === from.worker.rank);
  const best =
    peers.sort((a, b) => likeness(b, from) - likeness(a, from))[0] ??
    rest.find((place) => place.run === from.run && place.worker !== from.worker) ??
    rest[0];
  return best?.span.id ?? span;
}

/** How many views both can show or both cannot: captures of another kind have less in common. */
function likeness(one: Place, other: Place): number {
  const shows = new Map(other.span.views.map((view) => [view.id, view.available]));
  return one.span.views.filter((view) => shows.get(view.id) === view.available).length;
}

/** Both sides of Diff. What was recorded first is the baseline unless somebody chose. */
function sides(
  all: ReadonlyMap<string, Place>,
  span: string,
  wanted: Params,
): { baseline: string; experimental: string } {
  const baseline = sideOf(all, wanted.baseline);
  const experimental = sideOf(all, wanted.experimental);
  if (baseline) return { baseline, experimental: experimental ?? other(all, baseline) };
  if (experimental) return { baseline: other(all, experimental), experimental };
  const pair = [span, other(all, span)];
  const starts = pair.map((id) => BigInt(all.get(id)?.span.start_ns ?? 0));
  if (starts[0] && starts[1] && starts[1] < starts[0]) pair.reverse();
  return { baseline: pair[0] ?? "", experimental: pair[1] ?? "" };
}

export const selection = computed<Selection>(() => resolve(catalog.value, places.value, params.value));

export const missing = computed<Missing | null>(() => missingOf(catalog.value, places.value, params.value));

/** Where the selected span stands; undefined while nothing is selected. */
export const place = computed<Place | undefined>(() => places.value.get(selection.value.span));

export function openView(view: ViewId, more: Readonly<Record<string, string | null>> = {}): void {
  setParams({ view, ...more }, true);
}

/** Shows the slice of this name that starts `start` ns after `baseNs` (ns since 1970); where unknown, the first one. */
export function openSlice(name: string, baseNs: string, start: unknown, duration: unknown): void {
  const at = typeof start === "number" ? `${BigInt(baseNs) + BigInt(start)},${Number(duration ?? 0)}` : null;
  openView("trace", { find: name, at });
}

export function chooseRun(run: string): void {
  setParams({ run, worker: null, span: null }, true);
}

/** Another worker keeps the time: the span of the same label where that worker has one. */
export function chooseWorker(worker: string): void {
  const label = place.peek()?.span.label;
  const found = place.peek()?.run.workers.find((item) => item.id === worker);
  setParams({ worker, span: found?.spans.find((span) => span.label === label)?.id ?? null }, true);
}

export function chooseSpan(span: string): void {
  setParams({ span }, true);
}

/** A link copied from the address bar must mean the same tomorrow: write down what was chosen by default. */
export function pinSelection(): void {
  const found = catalog.peek();
  if (!found || found.scanning || found.runs.length === 0 || missing.peek()) return;
  const { run, worker, span } = selection.peek();
  setParams({ run, worker, span });
}
