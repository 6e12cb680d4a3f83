/** The derived rows of the ranks on the page: loaded when their header is unfolded. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, getJson } from "../../api/client";
import type { LayerJson, ProcessJson, ReplacedTracksJson, ThreadJson, TraceJson } from "../../api/types.gen";
import { t, textOf } from "../../i18n";
import type { Packing } from "../../timeline/display";
import { DERIVED, laneOffset, type SliceLabels } from "../../timeline/lanes";
import type { RowProcess, RowThread } from "../../timeline/rows";
import { askOf } from "./ranks/placement";

/** Time (ms) until the next try while the server still reads what the rows need. */
const RETRY_MS = 1000;
/** First track of the derived rows in a lane. */
const FIRST_TRACK = laneOffset(0, 0, "derived").track;
/** Processes that show the work of an NPU. */
const DEVICE = ["Ascend Hardware", "Overlap Analysis"];

/** A reading of a span. */
interface Source {
  span: string;
  version: string;
}

export class DerivedRows {
  readonly labels = signal<SliceLabels>(new Map());
  /** By reading. */
  private readonly found = signal<ReadonlyMap<string, LayerJson>>(new Map());
  private readonly requests = new Map<string, Promise<void>>();

  /** The reading of a span with the derived process: a header, and its rows once they are loaded. */
  addTo(data: TraceJson, span: string): TraceJson {
    const hasDevice = data.processes.some((process) => DEVICE.includes(process.name));
    if (!hasDevice || data.partial !== null) return data;
    const recorded = data.processes.filter((process) => process.pid !== DERIVED);
    const derived = this.found.value.get(keyOf({ span, version: data.version }));
    return { ...data, processes: insertDerived(recorded, processOf(derived)) };
  }

  /** Loads the rows of a reading, once. False if they were loaded before. */
  async load(source: Source, ask: () => Promise<LayerJson>): Promise<boolean> {
    const key = keyOf(source);
    if (this.found.peek().has(key)) return false;
    const request = this.requests.get(key) ?? this.fetch(key, ask);
    this.requests.set(key, request);
    try {
      await request;
      return true;
    } catch (error) {
      if (this.requests.get(key) === request) this.requests.delete(key); // allow a retry
      throw error;
    }
  }

  /** Sets the texts in the current language. */
  translate(): void {
    const labels = [...this.found.peek().values()].flatMap((one) => one.labels);
    this.labels.value = new Map(labels.map((one) => [one.name, { text: textOf(one, "text"), color: one.color }]));
  }

  /** What a row shows; "" for rows of the trace. `track`: in the reading. */
  helpOf(source: Source, track: number): string {
    const row = this.found
      .peek()
      .get(keyOf(source))
      ?.rows.find((one) => FIRST_TRACK + one.track === track);
    return row ? textOf(row, "help") : "";
  }

  private async fetch(key: string, ask: () => Promise<LayerJson>): Promise<void> {
    const derived = await whenRead(ask);
    this.found.value = new Map([...this.found.peek(), [key, derived]]);
  }
}

/** The processes with the derived one: behind the summary of the device, which comes first, or last without one. */
export function insertDerived(processes: readonly RowProcess[], derived: RowProcess): RowProcess[] {
  const at = processes.findIndex((process) => process.name === "Overlap Analysis") + 1 || processes.length;
  return [...processes.slice(0, at), derived, ...processes.slice(at)];
}

function keyOf({ span, version }: Source): string {
  return `${span} ${version}`;
}

function processOf(derived: LayerJson | undefined): ProcessJson {
  const rows =
    derived?.rows.map((row) => ({ ...row, track: FIRST_TRACK + row.track, name: textOf(row, "name") })) ?? [];
  const note = t(derived ? "trace.derived.none" : "trace.derived.loading");
  const label = derived ? "" : t("trace.derived.rows");
  return { name: t("trace.derived"), pid: DERIVED, label, threads: rows.length > 0 ? rows : [emptyRow(note)] };
}

/** A row that only shows its name. */
function emptyRow(name: string): ThreadJson {
  return { track: FIRST_TRACK, name, tid: "", kind: "slices", rows: 0, slices: 0, unit: "", max_value: null };
}

/** Asks again while the server reads what the answer needs. */
export async function whenRead<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 503)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Tracks of the trace in rows of a layer. */
interface PackedTracks extends ReplacedTracksJson {
  layer: Packing;
}

/** A reading of a span. */
type PackedSource = Pick<TraceJson, "version" | "partial"> & { span: string };

/** Other rows of the timelines on the page, which the server packs: Python threads without frames, merged streams. */
export class RepackedRows {
  /** The tracks of each reading and packing. */
  private readonly found = signal<ReadonlyMap<string, readonly PackedTracks[]>>(new Map());
  private readonly asked = new Set<string>();
  /** What is loaded, as a text that changes with it. */
  readonly loaded = computed(() => [...this.found.value.keys()].filter((key) => this.isChosen(key)).join());

  /** `chosen`: the packings that the user chose. */
  constructor(private readonly chosen: ReadonlySignal<readonly Packing[]>) {}

  /** Loads what the user chose for a complete reading. Throws an ApiError if the server cannot pack it. */
  async load({ span, version, partial }: PackedSource): Promise<void> {
    if (partial !== null) return;
    const missing = this.chosen.value.filter((packing) => !this.asked.has(packingKey(span, version, packing)));
    await Promise.all(missing.map((packing) => this.fetch(span, version, packing)));
  }

  /** The packings that are shown of a reading. */
  shownOf(span: string, version: string): Packing[] {
    return this.chosen.value.filter((packing) => this.found.value.has(packingKey(span, version, packing)));
  }

  /** Processes of a reading with the chosen rows in place of those of the trace. `first`: number of its track 0 on the page. */
  apply<T extends RowProcess>(processes: readonly T[], span: string, version: string, first: number): T[] {
    const tracks = this.chosen.value.flatMap(
      (packing) => this.found.value.get(packingKey(span, version, packing)) ?? [],
    );
    return replaceTracks(processes, tracks, first);
  }

  private isChosen(key: string): boolean {
    return this.chosen.value.some((packing) => key.endsWith(` ${packing}`));
  }

  private async fetch(span: string, version: string, packing: Packing): Promise<void> {
    const key = packingKey(span, version, packing);
    this.asked.add(key);
    try {
      const query = askOf("layer", [{ span, version, layer: packing }]);
      const { replaced } = await whenRead(() => getJson<LayerJson>(...query));
      this.found.value = new Map([...this.found.peek(), [key, replaced.map((one) => ({ ...one, layer: packing }))]]);
    } catch (error) {
      this.asked.delete(key);
      if (!(error instanceof ApiError && error.code === "stale")) throw error;
    }
  }
}

function packingKey(span: string, version: string, packing: Packing): string {
  return `${span} ${version} ${packing}`;
}

/** Puts each of `tracks` in place of the first track that it replaces; without rows, in place of none. */
export function replaceTracks<T extends RowProcess>(
  processes: readonly T[],
  tracks: readonly PackedTracks[],
  first: number,
): T[] {
  if (tracks.length === 0) return [...processes];
  const by = new Map(tracks.flatMap((one) => one.tracks.map((track) => [first + track, one] as const)));
  const replaced = (thread: RowThread): RowThread[] => {
    const one = by.get(thread.track);
    if (!one) return [thread];
    if (one.rows === 0 || thread.track !== first + (one.tracks[0] ?? 0)) return [];
    const name = one.tracks.length > 1 ? t("trace.rows.streams", { count: one.tracks.length }) : thread.name;
    const rowTrack = first + laneOffset(0, 0, one.layer).track + (one.tracks[0] ?? 0);
    const places = { rowTrack, tracks: one.tracks.map((track) => first + track) };
    return [{ ...thread, name, rows: one.rows, slices: one.slices, ...places }];
  };
  return processes
    .map((process) => ({ ...process, threads: process.threads.flatMap(replaced) }))
    .filter(({ threads }) => threads.length > 0);
}
