/** What the search of the header offers: views, runs, ranks, findings, kernels, operators, slices. */

import { getJson, getTable } from "../api/client";
import type { DiagnosisJson, FindingJson, SpanJson, TableJson, ViewId } from "../api/types.gen";
import { duration } from "../base/format";
import { holdsAll, wordsOf } from "../base/search";
import { t, textOf, viewTitle } from "../i18n";
import { VENDOR_WORDS } from "../i18n/vendor_words.gen";
import { catalog, type Place, workerName } from "../state/catalog";
import { chooseRun, chooseWorker, openView } from "../state/selection";
import { evidenceLinks } from "../widgets/diagnosis/finding";
import { formatState } from "../widgets/table/state";

export interface PaletteItem {
  label: string;
  /** A figure at the right. */
  note: string;
  open: () => void;
}

export interface PaletteGroup {
  title: string;
  /** All that match; `items` are the first. */
  total: number;
  items: readonly PaletteItem[];
}

/** Items of a group at most. */
const MOST = 4;
/** Ranks whose slices are searched at most. */
const MOST_RANKS = 64;

function groupOf(title: string, items: readonly PaletteItem[], total = items.length): PaletteGroup[] {
  return total > 0 ? [{ title, total, items: items.slice(0, MOST) }] : [];
}

/** What the page knows itself. diagnosis: of the run; null until it is there. */
export function localGroups(text: string, place: Place, diagnosis: DiagnosisJson | null): PaletteGroup[] {
  const words = wordsOf(text);
  const has = (...texts: string[]) => holdsAll(texts, words);
  const views = place.span.views
    .filter(({ id, available }) => available && has(viewTitle(id), id, ...vendorNames(id)))
    .map(({ id }) => item(viewTitle(id), "", () => openView(id as ViewId)));
  const runs = (catalog.value?.runs ?? [])
    .filter(({ id, label }) => id !== place.run.id && has(label))
    .map(({ id, label, workers }) => item(label, t("palette.ranks", { count: workers.length }), () => chooseRun(id)));
  const workers = place.run.workers
    .filter((worker) => worker !== place.worker && has(workerName(worker)))
    .map((worker) => item(workerName(worker), "", () => chooseWorker(worker.id)));
  const findings = (diagnosis?.findings ?? [])
    .filter((one) => has(textOf(one, "title"), textOf(one, "message")))
    .flatMap((one) => findingItem(one, diagnosis as DiagnosisJson));
  return [
    ...groupOf(t("side.views"), views),
    ...groupOf(t("palette.findings"), findings),
    ...groupOf(t("side.worker"), workers),
    ...groupOf(t("palette.runs"), runs),
  ];
}

/** Words of the vendor's documents for a view and its columns. */
function vendorNames(view: string): string[] {
  return VENDOR_WORDS.flatMap((one) => (one.view === view ? [...one.words.en, ...one.words.zh] : []));
}

function item(label: string, note: string, open: () => void): PaletteItem {
  return { label, note, open };
}

function findingItem(finding: FindingJson, { ledgers }: DiagnosisJson): PaletteItem[] {
  const note = finding.ms_per_step > 0 ? duration(finding.ms_per_step * 1e6, 2) : "";
  const [first] = evidenceLinks(finding, ledgers);
  const open = () => (first ? openView(first.view, first.state) : openView("overview"));
  return [item(textOf(finding, "message"), note, open)];
}

/** What the server finds: the longest first, with the number of all. What the capture lacks is left out. */
export async function remoteGroups(text: string, place: Place, signal: AbortSignal): Promise<PaletteGroup[]> {
  const found = await Promise.allSettled([
    tableGroup("kernel", "kernel.statistic", "total_ns", text, place.span, signal),
    tableGroup("operator", "operator.by_name", "host_self_ns", text, place.span, signal),
    sliceGroup(text, place, signal),
  ]);
  return found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

async function tableGroup(
  view: "kernel" | "operator",
  id: string,
  time: string,
  text: string,
  span: SpanJson,
  signal: AbortSignal,
): Promise<PaletteGroup[]> {
  if (!isAvailable(span, view)) return [];
  const query = { span: span.id, filter: text, sort: time, desc: 1, offset: 0, limit: MOST };
  const { data, total } = await getTable(id, query, signal);
  const tab = view === "kernel" ? { "kernel.tab": "statistic" } : {};
  const show = (filter: string) => {
    const state = formatState({ filter, order: null, columns: null, widths: {} });
    openView(view, { [`t.${id}`]: state, ...tab });
  };
  const items = (data.name ?? []).map((name, at) =>
    item(String(name), duration(data[time]?.[at] as number | null), () => show(String(name))),
  );
  return groupOf(
    viewTitle(view),
    withAll(items, total, () => show(text)),
    total,
  );
}

/** With an item for all of them, if there are more. */
function withAll(items: readonly PaletteItem[], total: number, open: () => void): PaletteItem[] {
  if (total <= items.length) return [...items];
  return [...items.slice(0, MOST - 1), item(t("palette.all", { count: total }), "", open)];
}

/** Slices of all ranks whose traces are read. */
async function sliceGroup(text: string, place: Place, signal: AbortSignal): Promise<PaletteGroup[]> {
  const zero = place.span.start_ns;
  if (!isAvailable(place.span, "trace") || zero === null) return [];
  const at = place.worker.spans.indexOf(place.span);
  const places = [place, ...othersOf(place, at)].slice(0, MOST_RANKS);
  const page = { sort: "dur", desc: true, offset: 0, limit: MOST };
  const sources = places.map(({ span }) => ({ span: span.id, zero }));
  const query = { query: JSON.stringify({ sources, q: text, page }) };
  const { data, total } = await getJson<TableJson>("timeline/hits", query, signal);
  const items = (data.name ?? []).map((name, row) => {
    const of = places[Number(data.part?.[row])] ?? place;
    const [start, time] = [Number(data.start?.[row]), Number(data.dur?.[row])];
    const rank = places.length > 1 ? ` · ${workerName(of.worker)}` : "";
    return item(`${name}${rank}`, duration(time), () =>
      openView("trace", {
        run: of.run.id,
        worker: of.worker.id,
        span: of.span.id,
        find: String(name),
        at: `${BigInt(zero) + BigInt(start)},${time}`,
      }),
    );
  });
  return groupOf(
    t("palette.slices"),
    withAll(items, total, () => openView("trace", { "trace.q": text })),
    total,
  );
}

function othersOf({ run, worker }: Place, at: number): Place[] {
  return run.workers.flatMap((other) => {
    const span = other.spans[at];
    return other === worker || !span ? [] : [{ run, worker: other, span }];
  });
}

function isAvailable(span: SpanJson, view: ViewId): boolean {
  return span.views.some(({ id, available }) => id === view && available);
}
