/** The slices behind a row of the statistics. */

import { useEffect, useState } from "preact/hooks";
import type { TableJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import type { Area } from "../../../timeline/scene";
import { Empty, TextButton } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { rowNames, SliceList } from "../slice_list";
import type { MembersOf } from "./area_rows";

const FIGURES = ["start", "dur", "self", "clipped"];
const FIRST = { sort: "dur", desc: 1, limit: 200 };

export function MembersList({ session, area, of }: { session: TraceSession; area: Area; of: MembersOf }) {
  const [found, setFound] = useState<TableJson | string | null>(null);
  const stats = session.area.stats.value;
  const isOfOneRank = of.track !== null || of.lane !== null || (stats?.parts.length ?? 1) === 1;
  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    session.api.members(area, of, FIRST, abort.signal).then(setFound, (error) => {
      if (!abort.signal.aborted) setFound(messageOf(error));
    });
    return () => abort.abort();
  }, [area, of, stats]);
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
        {found && typeof found !== "string" && (
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
      {found === null && <Empty text={t("state.loading")} />}
      {typeof found === "string" && <Empty text={t("trace.area.failed", { message: found })} />}
      {found && typeof found !== "string" && (
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
