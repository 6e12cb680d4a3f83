/** What a rank did in the selected part of its strip. */

import { duration, exactDuration, shareOf } from "../../../base/format";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { Empty, Facts, TextButton, Time } from "../../../widgets";
import { partTitle } from "../../../widgets/parts";
import { requestRanks } from "../range/ranks_list";
import type { TraceSession } from "../session";
import { toggleRank, unfoldRank } from "./rank_rows";
import { rankName } from "./strip_canvas";
import type { PartId } from "./strip_data";

export function PartPanel({ session }: { session: TraceSession }) {
  const { ranks, lanes } = session;
  const part = session.part.value;
  const place = ranks.all.value.find(({ span }) => span === part?.span);
  const ask = (signal: AbortSignal) =>
    requestRanks(session, place ? [place] : [], part ?? { start: 0, end: 1 }, signal);
  const { value, error } = useRequest([part, ranks.shifts.value, ranks.data.value], part && place ? ask : null, []);
  if (!part || !place) return <Empty text={t("trace.panel.none")} />;
  const length = part.end - part.start;
  const found = value?.ranks[0];
  const parts = (value?.parts ?? []).map((id, at) => ({ id, ns: found?.times[at] ?? 0 })).filter(({ ns }) => ns > 0);
  const late = found?.waits_for ?? null;
  const root = ranks.placeOf(late, place.span);
  const isOpen = place.span === session.span;
  return (
    <div>
      <div class="trace-title wraps">
        <h2 data-tip={exactDuration(length)}>
          {lanes.nameOf(place)} ·{" "}
          {t("trace.area.title", { duration: duration(length), start: session.shownTime(part.start) })}
        </h2>
        {late !== null && <span class="muted">{t("trace.ranks.waits_for", { rank: rankName(late) })}</span>}
        <div class="trace-actions">
          {root && root.span !== session.span && (
            <TextButton onClick={() => void unfoldRank(session, root.span)}>
              {t("trace.derived.late", { rank: root.rank ?? "" })}
            </TextButton>
          )}
          {!isOpen && !lanes.isUnfolded(place.span) && (
            <TextButton onClick={() => void toggleRank(session, place.span)}>
              {t("trace.ranks.unfold", { name: lanes.nameOf(place) })}
            </TextButton>
          )}
          {!isOpen && (
            <TextButton onClick={() => session.openRank(place)}>
              {t("trace.ranks.open", { name: lanes.nameOf(place) })}
            </TextButton>
          )}
          <TextButton
            onClick={() =>
              void session.setArea({
                start: part.start,
                end: part.end,
                tracks: null,
                lanes: [lanes.numberOf(place.span)],
              })
            }
          >
            {t("trace.part.range")}
          </TextButton>
        </div>
      </div>
      {error && <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />}
      {!found && !error && <Empty text={t("state.loading")} />}
      <Facts
        facts={parts.map(({ id, ns }) => [
          partTitle("budget", id as PartId),
          [<Time key="time" ns={ns} />, <span key="share" class="muted">{` ${shareOf(ns, length)}`}</span>],
        ])}
      />
    </div>
  );
}
