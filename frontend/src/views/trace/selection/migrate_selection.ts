/** Migrates state from one reading of a trace to the next: tracks by their threads, times by the epoch. */

import type { ProcessJson, TraceJson } from "../../../api/types.gen";
import { originOf } from "../../../timeline/decode";
import { laneOfTrack } from "../../../timeline/lanes";
import { type LayoutState, processKey, threadKey } from "../../../timeline/rows";
import type { Area, FlowCurve, Range, SliceMark } from "../../../timeline/scene";

export interface Reading {
  data: TraceJson;
  /** Epoch time (ns) of time 0. */
  base: string;
}

/** Maps state of one reading to the next. */
export function migrateSelection(before: Reading, after: Reading): SelectionMigration {
  return new SelectionMigration(before, after);
}

export class SelectionMigration {
  /** Offset to add to a time of the previous reading, ns. */
  readonly shift: number;
  private readonly tracks: ReadonlyMap<number, number>;

  constructor(
    private readonly before: Reading,
    private readonly after: Reading,
  ) {
    this.shift = originOf(before.base, after.base);
    this.tracks = sameTracks(before.data.processes, after.data.processes);
  }

  range<T extends Range>(range: T): T {
    return { ...range, start: range.start + this.shift, end: range.end + this.shift };
  }

  /** A dragged area; null if none of its rows exists any more. */
  area(area: Area): Area | null {
    const tracks = area.tracks && this.some(area.tracks);
    return tracks?.length === 0 ? null : { ...this.range(area), tracks };
  }

  /** Position of a slice; its id is that of the previous reading. Null if its row does not exist any more. */
  slice<T extends SliceMark>(slice: T): T | null {
    const track = this.trackOf(slice.track);
    return track === undefined ? null : { ...this.range(slice), track };
  }

  flow(flow: FlowCurve): FlowCurve | null {
    const [from, to] = [this.slice(flow.from), this.slice(flow.to)];
    return from && to && { ...flow, from, to };
  }

  layout(state: LayoutState): LayoutState {
    const { hiddenProcesses, hiddenTracks, processOrder, trackOrder } = state.arrangement;
    return {
      filter: state.filter,
      collapsedProcesses: new Set(this.processes(state.collapsedProcesses)),
      collapsedTracks: new Set(this.some([...state.collapsedTracks])),
      pinned: this.some(state.pinned),
      arrangement: {
        hiddenProcesses: new Set(this.processes(hiddenProcesses)),
        hiddenTracks: new Set(this.some([...hiddenTracks])),
        processOrder: this.processes(processOrder),
        trackOrder: this.some(trackOrder),
      },
    };
  }

  /** Identifies a process by its number: its name may arrive later. Keeps unknown keys for later readings. */
  private processes(keys: Iterable<string>): string[] {
    const pids = new Map(this.before.data.processes.map((process) => [processKey(process), process.pid]));
    const now = new Map(this.after.data.processes.map((process) => [process.pid, processKey(process)]));
    return [...keys].map((key) => now.get(pids.get(key) ?? "") ?? key);
  }

  private some(tracks: readonly number[]): number[] {
    return tracks.flatMap((track) => this.trackOf(track) ?? []);
  }

  /** A track of the next reading; those of other ranks stay. */
  private trackOf(track: number): number | undefined {
    return laneOfTrack(track) > 0 ? track : this.tracks.get(track);
  }
}

function sameTracks(before: readonly ProcessJson[], after: readonly ProcessJson[]): Map<number, number> {
  const now = new Map<string, number>();
  for (const process of after) for (const thread of process.threads) now.set(threadKey(process, thread), thread.track);
  const same = new Map<number, number>();
  for (const process of before) {
    for (const thread of process.threads) {
      const track = now.get(threadKey(process, thread));
      if (track !== undefined) same.set(thread.track, track);
    }
  }
  return same;
}
