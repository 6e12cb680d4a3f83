/** Aligns two ranks by hand: by a slice of each. */

import type { SliceDetailJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { laneOfSlice } from "../../../timeline/lanes";
import { duration } from "../format";
import type { SlicePair } from "../selection/selection";
import type { TraceSession } from "../session";

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
  session.selection.closePair();
  if (!moved) return;
  const { span } = moved.place;
  session.ranks.setOffset(span, (session.ranks.byHand.peek().get(span) ?? 0) + (isOpen ? -offset : offset));
}

export function AlignPair({ session }: { session: TraceSession }) {
  const pair = session.selection.pair.value;
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
      <button
        type="button"
        class="link"
        aria-label={t("trace.note.close")}
        onClick={() => session.selection.closePair()}
      >
        ✕
      </button>
    </div>
  );
}
