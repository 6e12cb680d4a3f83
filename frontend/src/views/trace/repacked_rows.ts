/** Other rows of the timelines on the page, which the server packs: Python threads without frames, merged streams. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, getJson } from "../../api/client";
import type { LayerJson, ReplacedTracksJson, TraceJson } from "../../api/types.gen";
import { t } from "../../i18n";
import type { Packing } from "../../timeline/display";
import { laneOffset } from "../../timeline/lanes";
import type { RowProcess, RowThread } from "../../timeline/rows";
import { whenRead } from "./derived_rows";
import { askOf } from "./search/rank_hits";

/** Tracks of the trace in rows of a layer. */
export interface PackedTracks extends ReplacedTracksJson {
  layer: Packing;
}

/** A reading of a span. */
type Source = Pick<TraceJson, "version" | "partial"> & { span: string };

export class RepackedRows {
  /** The tracks of each reading and packing. */
  private readonly found = signal<ReadonlyMap<string, readonly PackedTracks[]>>(new Map());
  private readonly asked = new Set<string>();
  /** What is loaded, as a text that changes with it. */
  readonly loaded = computed(() => [...this.found.value.keys()].filter((key) => this.isChosen(key)).join());

  /** `chosen`: the packings that the user chose. */
  constructor(private readonly chosen: ReadonlySignal<readonly Packing[]>) {}

  /** Loads what the user chose for a complete reading. Throws an ApiError if the server cannot pack it. */
  async load({ span, version, partial }: Source): Promise<void> {
    if (partial !== null) return;
    const missing = this.chosen.value.filter((packing) => !this.asked.has(keyOf(span, version, packing)));
    await Promise.all(missing.map((packing) => this.fetch(span, version, packing)));
  }

  /** The packings that are shown of a reading. */
  shownOf(span: string, version: string): Packing[] {
    return this.chosen.value.filter((packing) => this.found.value.has(keyOf(span, version, packing)));
  }

  /** Processes of a reading with the chosen rows in place of those of the trace. `first`: number of its track 0 on the page. */
  apply<T extends RowProcess>(processes: readonly T[], span: string, version: string, first: number): T[] {
    const tracks = this.chosen.value.flatMap((packing) => this.found.value.get(keyOf(span, version, packing)) ?? []);
    return replaceTracks(processes, tracks, first);
  }

  private isChosen(key: string): boolean {
    return this.chosen.value.some((packing) => key.endsWith(` ${packing}`));
  }

  private async fetch(span: string, version: string, packing: Packing): Promise<void> {
    const key = keyOf(span, version, packing);
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

function keyOf(span: string, version: string, packing: Packing): string {
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
