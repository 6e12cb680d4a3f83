/** Keeps rows and hits in step with the ranks: which are loaded, where their times are, and what a search covers. */

import { effect, untracked } from "@preact/signals";
import { together } from "../../../base/listen";
import { param } from "../../../state/params";
import { laneOfSlice, laneOfTrack } from "../../../timeline/lanes";
import type { Range } from "../../../timeline/scene";
import { KEYS } from "../link/link";
import type { TraceSession } from "../session";
import { loadDerived } from "./rank_rows";

/** Returns what stops it. */
export function followLanes(session: TraceSession): () => void {
  const { lanes, ranks } = session;
  return together([
    effect(() => {
      ranks.all.value;
      untracked(() => dropGone(session));
    }),
    effect(() => {
      const unfolded = ranks.shown.value.filter(({ span }) => lanes.unfolded.value.has(span));
      const pinned = session.layout.value.pinned.map(laneOfTrack);
      const counted = (session.area.area.value?.tracks ?? []).map(laneOfTrack);
      const needed = new Set([...unfolded.map(({ span }) => lanes.numberOf(span)), ...pinned, ...counted]);
      for (const number of needed) if (number > 0) void lanes.load(number);
    }),
    effect(() => {
      session.layout.value;
      lanes.unfolded.value;
      const loaded = [...lanes.loaded.value.keys()];
      untracked(() => {
        for (const number of loaded) void loadDerived(session, number);
      });
    }),
    effect(() => {
      const labels = session.derived.labels.value;
      session.engine?.setRows({ processes: session.processes.value, labels });
    }),
    followTimes(session),
    followRanks(session),
    effect(() => {
      lanes.below();
      for (const lane of lanes.loaded.value.values()) lanes.timeOf(lane);
      untracked(() => session.area.reload());
    }),
    effect(() => {
      for (const reading of session.readings()) {
        void session.repacked.load(reading).catch((error: unknown) => session.fail(error));
      }
    }),
    followPackings(session),
    effect(() => {
      const times = union(ranks.extent(session.base), lanes.extent());
      const isKnown = ranks.shown.value.length === 0 || times !== null; // until then, the link says what is shown
      if (isKnown) session.engine?.setBeside(times);
    }),
  ]);
}

/** Removes what is of a run that is not compared any more. */
function dropGone(session: TraceSession): void {
  const gone = new Set(session.lanes.forgetGone());
  if (gone.size === 0) return;
  const layout = session.layout.peek();
  session.setLayout({ ...layout, pinned: layout.pinned.filter((track) => !gone.has(laneOfTrack(track))) });
  const selected = session.selection.selected.peek();
  if (selected && gone.has(laneOfSlice(selected.id))) session.selection.pick(null);
  session.engine?.reloadRows();
}

/**
 * Loads rows again when the times of a rank that was on the page change. The selected slice stays in place, but the view of a
 * link stays as it is until the user aligns anew: its times are those of the clocks as they are estimated in the end.
 */
function followTimes(session: TraceSession): () => void {
  let before = new Map<number, number>();
  let aligned = alignmentParams();
  return effect(() => {
    const now = new Map([...session.lanes.loaded.value].map(([number, lane]) => [number, session.lanes.timeOf(lane)]));
    const shifts = new Map([...now].map(([number, time]) => [number, time - (before.get(number) ?? time)]));
    before = now;
    const isAlignedAnew = aligned !== alignmentParams();
    aligned = alignmentParams();
    if ([...shifts.values()].every((shift) => shift === 0)) return;
    const selected = session.selection.selected.peek();
    const shift = (selected && shifts.get(laneOfSlice(selected.id))) ?? 0;
    if (isAlignedAnew || !session.isAsLinked) session.engine?.keepSelected(shift);
    session.engine?.reloadRows();
    void session.selection.reload();
  });
}

function alignmentParams(): string {
  return `${param(KEYS.align)} ${param(KEYS.offsets)}`;
}

/** Loads rows and the place of the selected slice again when other rows are shown. */
function followPackings(session: TraceSession): () => void {
  let before = session.repacked.loaded.peek();
  return effect(() => {
    const now = session.repacked.loaded.value;
    if (now === before) return;
    before = now;
    untracked(() => {
      session.selection.closePair();
      session.engine?.reloadRows();
      void session.selection.reload();
    });
  });
}

function union(one: Range | null, other: Range | null): Range | null {
  if (!one || !other) return one ?? other;
  return { start: Math.min(one.start, other.start), end: Math.max(one.end, other.end) };
}

/** Repeats the search when other ranks are shown, moved or read. Returns what stops it. */
export function followRanks(session: TraceSession): () => void {
  const { lanes, ranks, search } = session;
  let before: string | null = null;
  return effect(() => {
    const now = JSON.stringify(lanes.beside());
    const loaded = lanes.loaded.value;
    const traced = new Set(ranks.lines().flatMap(({ span, is_traced }) => (is_traced ? [span] : [])));
    const isOutdated = search.ranks.peek().some(({ lane, version, total }) => {
      const span = ranks.all.peek()[lane - 1]?.span ?? "";
      const read = loaded.get(lane)?.data.version;
      return lane > 0 && (total === null ? traced.has(span) || read !== undefined : (read ?? version) !== version);
    });
    const isChanged = before !== null && before !== now;
    before = now;
    if (isChanged || isOutdated) untracked(() => void session.finder.again());
  });
}
