/** What the user does with the rows of other ranks. */

import { t } from "../../../i18n";
import { isDerivedTrack } from "../../../timeline/derived";
import { laneOfTrack } from "../../../timeline/lanes";
import { findTrack, processKey, trackLabel } from "../../../timeline/rows";
import type { TraceSession } from "../session";
import { fetchDerived } from "../show_derived";

/** Shows the rows of a rank below those of the open one, those of its host folded; or hides them. */
export async function toggleRank(session: TraceSession, span: string): Promise<void> {
  session.lanes.toggle(span);
  if (!session.lanes.isUnfolded(span)) return;
  const number = session.lanes.numberOf(span);
  const [first] = (await session.lanes.load(number))?.data.processes ?? [];
  if (!first || !session.engine) return;
  const own = session.processes.peek().filter(({ threads }) => laneOfTrack(threads[0]?.track ?? 0) === number);
  const hosts = own.filter(({ label }) => label === "CPU").map(processKey);
  const layout = session.layout.peek();
  session.setLayout({ ...layout, collapsedProcesses: new Set([...layout.collapsedProcesses, ...hosts]) });
  session.engine.scrollTo(own[0]?.threads[0]?.track ?? 0, 0);
}

/** Shows the rows of a rank beside those of the open one, at the same time. */
export async function unfoldRank(session: TraceSession, span: string): Promise<void> {
  const shown = session.ranks.shown.peek().map((place) => place.span);
  if (!shown.includes(span)) session.ranks.show([...shown, session.span, span]);
  if (!session.lanes.isUnfolded(span)) await toggleRank(session, span);
}

/** Pins the row of this name on all shown ranks, one under the other; on all ranks if none are shown. */
export async function pinOnAllRanks(session: TraceSession, track: number): Promise<void> {
  const found = findTrack(session.recorded.peek(), track);
  if (!found) return;
  if (session.ranks.shown.peek().length < 2) session.ranks.show(session.ranks.all.peek().map(({ span }) => span));
  const { process, thread } = found;
  if (isDerivedTrack(track)) await loadDerivedOfAll(session);
  const tracks = await Promise.all(
    session.ranks.shown
      .peek()
      .map(({ span }) => session.lanes.sameTrack(span, process.name, thread, session.data.processes)),
  );
  const pinned = tracks.filter((one) => one !== null);
  const others = session.layout.peek().pinned.filter((one) => !pinned.includes(one));
  session.setLayout({ ...session.layout.peek(), pinned: [...others, ...pinned] });
  session.engine?.scrollToPinned();
  if (pinned.length < tracks.length) {
    session.say(t("trace.row.pinned_some", { name: trackLabel(thread), count: pinned.length, total: tracks.length }));
  }
}

/** Loads the derived rows of all shown ranks. */
async function loadDerivedOfAll(session: TraceSession): Promise<void> {
  const numbers = session.ranks.shown.peek().map(({ span }) => session.lanes.numberOf(span));
  const load = async (number: number) => {
    if (number > 0) await session.lanes.load(number);
    await fetchDerived(session, number);
  };
  await Promise.all(numbers.map(load));
}

/** Unfolds a rank, unless it is the open one. */
export function showRank({ ranks, lanes }: TraceSession, lane: number): void {
  const place = ranks.all.peek()[lane - 1];
  if (!place) return;
  const shown = ranks.shown.peek().map(({ span }) => span);
  if (!shown.includes(place.span)) ranks.show([...shown, place.span]);
  lanes.toggle(place.span, true);
}
