/** Keeps the rows on the page in step with the ranks: which are loaded, and where their times are. */

import { effect, untracked } from "@preact/signals";
import { laneOfSlice, laneOfTrack } from "../../../timeline/lanes";
import type { Range } from "../../../timeline/scene";
import type { TraceSession } from "../session";
import { loadDerived } from "../show_derived";
import { closePair } from "./align_pair";

/** Returns what stops it. */
export function followLanes(session: TraceSession): () => void {
  const { lanes, ranks } = session;
  const stops = [
    effect(() => {
      ranks.all.value;
      untracked(() => dropGone(session));
    }),
    effect(() => {
      const unfolded = ranks.shown.value.filter(({ span }) => lanes.unfolded.value.has(span));
      const pinned = session.layout.value.pinned.map(laneOfTrack);
      const needed = new Set([...unfolded.map(({ span }) => lanes.numberOf(span)), ...pinned]);
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
  ];
  return () => {
    for (const stop of stops) stop();
  };
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

/** Loads rows again when the times of a rank that was on the page change; the selected slice stays in place. */
function followTimes(session: TraceSession): () => void {
  let before = new Map<number, number>();
  return effect(() => {
    const now = new Map([...session.lanes.loaded.value].map(([number, lane]) => [number, session.lanes.timeOf(lane)]));
    const shifts = new Map([...now].map(([number, time]) => [number, time - (before.get(number) ?? time)]));
    before = now;
    if ([...shifts.values()].every((shift) => shift === 0)) return;
    const selected = session.selection.selected.peek();
    session.engine?.keepSelected((selected && shifts.get(laneOfSlice(selected.id))) ?? 0);
    session.engine?.reloadRows();
    void session.selection.reload();
  });
}

/** Loads rows and the place of the selected slice again when other rows are shown. */
function followPackings(session: TraceSession): () => void {
  let before = session.repacked.loaded.peek();
  return effect(() => {
    const now = session.repacked.loaded.value;
    if (now === before) return;
    before = now;
    untracked(() => {
      closePair(session);
      session.engine?.reloadRows();
      void session.selection.reload();
    });
  });
}

function union(one: Range | null, other: Range | null): Range | null {
  if (!one || !other) return one ?? other;
  return { start: Math.min(one.start, other.start), end: Math.max(one.end, other.end) };
}
