/** Aligns two ranks by hand: by a slice of each. */

import type { SliceDetailJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { laneOfSlice } from "../../../timeline/lanes";
import type { HoverBar } from "../../../timeline/scene";
import { duration, messageOf } from "../format";
import type { TraceSession } from "../session";

/** The selected slice, and one of another rank. */
export interface SlicePair {
  first: SliceDetailJson;
  second: SliceDetailJson;
}

/** Chooses the slice to align with the selected one. */
export async function pickSecond(session: TraceSession, bar: HoverBar): Promise<void> {
  const first = session.selection.selected.peek()?.detail;
  if (!first || laneOfSlice(first.id) === laneOfSlice(bar.id)) {
    session.say(t("trace.pair.how"));
    return;
  }
  try {
    const second = await session.selection.load(bar.id);
    session.pair.value = { first, second };
    const { id, name, track, depth, start, dur } = second;
    session.engine?.update({ second: { id, name, track, depth, start, end: start + dur } });
  } catch (error) {
    session.say(messageOf(error));
  }
}

export function closePair(session: TraceSession): void {
  session.pair.value = null;
  session.engine?.update({ second: null });
}

/** What is added to the second slice's times to align the pair, ns. */
export function pairOffset({ first, second }: SlicePair, by: "start" | "end"): number {
  const end = by === "end" ? first.dur - second.dur : 0;
  return first.start - second.start + end;
}

/** Moves the rank of the second slice; the open rank keeps its times. */
function align(session: TraceSession, pair: SlicePair, by: "start" | "end"): void {
  const offset = pairOffset(pair, by);
  const isOpen = laneOfSlice(pair.second.id) === 0;
  const moved = session.lanes.loaded.peek().get(laneOfSlice((isOpen ? pair.first : pair.second).id));
  closePair(session);
  if (!moved) return;
  const { span } = moved.place;
  session.ranks.setOffset(span, (session.ranks.byHand.peek().get(span) ?? 0) + (isOpen ? -offset : offset));
}

export function AlignPair({ session }: { session: TraceSession }) {
  const pair = session.pair.value;
  if (!pair) return null;
  const label = ({ id, name }: SliceDetailJson) => `${session.lanes.rankOf(laneOfSlice(id))}: ${name}`;
  return (
    <div class="trace-note" role="group" aria-label={t("trace.pair.title")}>
      <span class="grow ellipsis" data-tip-cut>
        {label(pair.first)} ↔ {label(pair.second)}
      </span>
      {(["start", "end"] as const).map((by) => (
        <button key={by} type="button" class="link" onClick={() => align(session, pair, by)}>
          {t(`trace.pair.${by}`, { offset: duration(pairOffset(pair, by)) })}
        </button>
      ))}
      <button type="button" class="link" aria-label={t("trace.note.close")} onClick={() => closePair(session)}>
        ✕
      </button>
    </div>
  );
}
