/** What the user does with the rows of other ranks. */

import { t } from "../../../i18n";
import { DERIVED, isDerivedTrack, laneOfTrack } from "../../../timeline/lanes";
import { findTrack, processKey, trackLabel } from "../../../timeline/rows";
import type { TimelinePort } from "../timeline_port";

/** Shows the rows of a rank below those of the open one, those of its host folded; or hides them. */
export async function toggleRank(port: TimelinePort, span: string): Promise<void> {
  port.lanes.toggle(span);
  if (!port.lanes.isUnfolded(span)) return;
  const number = port.lanes.numberOf(span);
  const [first] = (await port.lanes.load(number))?.data.processes ?? [];
  if (!first || !port.engine) return;
  const own = port.processes.peek().filter(({ threads }) => laneOfTrack(threads[0]?.track ?? 0) === number);
  const hosts = own.filter(({ label }) => label === "CPU").map(processKey);
  const layout = port.layout.peek();
  port.setLayout({ ...layout, collapsedProcesses: new Set([...layout.collapsedProcesses, ...hosts]) });
  port.engine.scrollTo(own[0]?.threads[0]?.track ?? 0, 0);
}

/** Shows the rows of a rank beside those of the open one, at the same time. */
export async function unfoldRank(port: TimelinePort, span: string): Promise<void> {
  const shown = port.ranks.shown.peek().map((place) => place.span);
  if (!shown.includes(span)) port.ranks.show([...shown, port.span, span]);
  if (!port.lanes.isUnfolded(span)) await toggleRank(port, span);
}

/** Pins the row of this name on all shown ranks, one under the other; on all ranks if none are shown. */
export async function pinOnAllRanks(port: TimelinePort, track: number): Promise<void> {
  const found = findTrack(port.recorded.peek(), track);
  if (!found) return;
  if (port.ranks.shown.peek().length < 2) port.ranks.show(port.ranks.all.peek().map(({ span }) => span));
  const { process, thread } = found;
  if (isDerivedTrack(track)) await loadDerivedOfAll(port);
  const tracks = await Promise.all(
    port.ranks.shown.peek().map(({ span }) => port.lanes.sameTrack(span, process.name, thread, port.data.processes)),
  );
  const pinned = tracks.filter((one) => one !== null);
  const others = port.layout.peek().pinned.filter((one) => !pinned.includes(one));
  port.setLayout({ ...port.layout.peek(), pinned: [...others, ...pinned] });
  port.engine?.scrollToPinned();
  if (pinned.length < tracks.length) {
    port.say(t("trace.row.pinned_some", { name: trackLabel(thread), count: pinned.length, total: tracks.length }));
  }
}

/** Loads the derived rows of all shown ranks. */
async function loadDerivedOfAll(port: TimelinePort): Promise<void> {
  const numbers = port.ranks.shown.peek().map(({ span }) => port.lanes.numberOf(span));
  const load = async (number: number) => {
    if (number > 0) await port.lanes.load(number);
    await fetchDerived(port, number);
  };
  await Promise.all(numbers.map(load));
}

/** Unfolds a rank, unless it is the open one. */
export function showRank({ ranks, lanes }: TimelinePort, lane: number): void {
  const place = ranks.all.peek()[lane - 1];
  if (!place) return;
  const shown = ranks.shown.peek().map(({ span }) => span);
  if (!shown.includes(place.span)) ranks.show([...shown, place.span]);
  lanes.toggle(place.span, true);
}

/** Loads the derived rows of a rank, by its number, if the page shows some of them. */
export async function loadDerived(port: TimelinePort, lane = 0): Promise<void> {
  const { collapsedProcesses, pinned } = port.layout.peek();
  const isPinned = pinned.some((track) => isDerivedTrack(track) && laneOfTrack(track) === lane);
  const isUnfolded = lane === 0 || port.lanes.isUnfolded(port.readingOf(lane)?.span ?? "");
  if (isPinned || (isUnfolded && !collapsedProcesses.has(DERIVED))) await fetchDerived(port, lane);
}

/** Loads the derived rows of a loaded rank, by its number. */
async function fetchDerived(port: TimelinePort, lane: number): Promise<void> {
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
