/** Loads the derived rows that the page shows. */

import { DERIVED, isDerivedTrack } from "../../timeline/derived";
import { laneOfTrack } from "../../timeline/lanes";
import type { TimelinePort } from "./timeline_port";

/** Loads the derived rows of a rank, by its number, if the page shows some of them. */
export async function loadDerived(port: TimelinePort, lane = 0): Promise<void> {
  const { collapsedProcesses, pinned } = port.layout.peek();
  const isPinned = pinned.some((track) => isDerivedTrack(track) && laneOfTrack(track) === lane);
  const isUnfolded = lane === 0 || port.lanes.isUnfolded(port.readingOf(lane)?.span ?? "");
  if (isPinned || (isUnfolded && !collapsedProcesses.has(DERIVED))) await fetchDerived(port, lane);
}

/** Loads the derived rows of a loaded rank, by its number. */
export async function fetchDerived(port: TimelinePort, lane: number): Promise<void> {
  const reading = port.readingOf(lane);
  if (!reading || reading.partial !== null) return;
  const { api, derived } = port;
  try {
    if (await derived.load(reading, () => api.derived(lane))) port.showDerived();
  } catch (error) {
    port.fail(error);
  }
}

/** Unfolds the derived rows, and waits until those of a rank are shown. */
export async function openDerived(port: TimelinePort, lane: number): Promise<void> {
  const layout = port.layout.peek();
  const collapsedProcesses = new Set(layout.collapsedProcesses);
  if (collapsedProcesses.delete(DERIVED)) port.setLayout({ ...layout, collapsedProcesses });
  await loadDerived(port, lane);
}
