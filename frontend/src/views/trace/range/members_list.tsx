/** The slices behind a row of the statistics. */

import { integer } from "../../../base/format";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import type { Area } from "../../../timeline/scene";
import { Empty, TextButton } from "../../../widgets";
import type { TraceSession } from "../session";
import { rowNames, SliceList } from "../slice_list";
import type { MembersOf } from "./area_rows";

const FIGURES = ["start", "dur", "self", "clipped"];
const FIRST = { sort: "dur", desc: 1, limit: 200 };

export function MembersList({ session, area, of }: { session: TraceSession; area: Area; of: MembersOf }) {
  const stats = session.area.stats.value;
  const isOfOneRank = of.track !== null || of.lane !== null || (stats?.parts.length ?? 1) === 1;
  const ask = (signal: AbortSignal) => session.api.members(area, of, FIRST, signal);
  const { value: found, error } = useRequest([area, of, stats], ask);
  const rank = of.lane === null || of.track !== null ? "" : session.lanes.rankOf(of.lane);
  const name = [of.name, rank, ...(of.track === null ? [] : rowNames(session, [of.track]))].filter(Boolean).join(" · ");
  const back = () => {
    session.area.members.value = null;
  };
  return (
    <section>
      <h3 class="trace-sub trace-list-title">
        <TextButton onClick={back}>‹ {t("trace.area.back")}</TextButton>
        {name}
        {found && (
          <span class="muted">
            {found.total < of.count
              ? t("trace.descent.some", { shown: integer(found.total), total: integer(of.count) })
              : t("trace.area.slices", { count: integer(of.count) })}
          </span>
        )}
        {of.name && (
          <TextButton onClick={() => void session.finder.find(of.name, true)}>{t("trace.slice.same")}</TextButton>
        )}
        <a class="link" href={session.api.membersCsvUrl(area, of)} download data-tip={t("trace.area.members.csv")}>
          CSV ↓
        </a>
      </h3>
      {error && <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />}
      {!found && !error && <Empty text={t("state.loading")} />}
      {found && (
        <SliceList
          session={session}
          name={name}
          table={found}
          columns={[
            ...(of.name && of.track === null ? [] : ["name"]),
            ...(of.track === null ? ["row"] : []),
            ...(isOfOneRank ? [] : ["rank"]),
            ...FIGURES,
          ]}
          compared={[["dur", "self", "clipped"]]}
          fetchRows={(query, signal) => session.api.members(area, of, query, signal)}
        />
      )}
    </section>
  );
}
