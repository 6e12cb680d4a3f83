/** Loads the derived rows that the page shows. */

import { DERIVED, isDerivedTrack } from "../../timeline/derived";
import { laneOfTrack } from "../../timeline/lanes";
import type { TraceSession } from "./session";

/** Loads the derived rows of a rank, by its number, if the page shows some of them. */
export async function loadDerived(session: TraceSession, lane = 0): Promise<void> {
  const { collapsedProcesses, pinned } = session.layout.peek();
  const isPinned = pinned.some((track) => isDerivedTrack(track) && laneOfTrack(track) === lane);
  const isUnfolded = lane === 0 || session.lanes.isUnfolded(session.readingOf(lane)?.span ?? "");
  if (isPinned || (isUnfolded && !collapsedProcesses.has(DERIVED))) await fetchDerived(session, lane);
}

/** Loads the derived rows of a loaded rank, by its number. */
export async function fetchDerived(session: TraceSession, lane: number): Promise<void> {
  const reading = session.readingOf(lane);
  if (!reading || reading.partial !== null) return;
  const { api, derived } = session;
  try {
    if (await derived.load(reading, () => api.derived(lane))) session.showDerived();
  } catch (error) {
    session.fail(error);
  }
}

/** Unfolds the derived rows, and waits until those of a rank are shown. */
export async function openDerived(session: TraceSession, lane: number): Promise<void> {
  const layout = session.layout.peek();
  const collapsedProcesses = new Set(layout.collapsedProcesses);
  if (collapsedProcesses.delete(DERIVED)) session.setLayout({ ...layout, collapsedProcesses });
  await loadDerived(session, lane);
}
