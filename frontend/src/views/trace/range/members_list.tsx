/** The slices behind a row of the statistics. */

import { useEffect, useState } from "preact/hooks";
import type { TableJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import type { Area } from "../../../timeline/scene";
import { Empty } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { rowNames, SliceList } from "../slice_list";
import type { MembersOf } from "./area_stats";

const FIGURES = ["start", "dur", "self", "clipped"];
const FIRST = { sort: "dur", desc: 1, limit: 200 };

export function MembersList({ session, area, of }: { session: TraceSession; area: Area; of: MembersOf }) {
  const [found, setFound] = useState<TableJson | string | null>(null);
  const ofArea = of.track === null ? area : { ...area, tracks: [of.track] };
  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    session.api.members(ofArea, of.name, FIRST, abort.signal).then(setFound, (error) => {
      if (!abort.signal.aborted) setFound(messageOf(error));
    });
    return () => abort.abort();
  }, [area, of, session.reading.value]);
  const name = [of.name, ...(of.track === null ? [] : rowNames(session, [of.track]))].filter(Boolean).join(" · ");
  const back = () => {
    session.area.members.value = null;
  };
  return (
    <section>
      <h3 class="trace-sub trace-list-title">
        <button type="button" class="link" onClick={back}>
          ‹ {t("trace.area.back")}
        </button>
        {name}
        {found && typeof found !== "string" && (
          <span class="muted">
            {found.total < of.count
              ? t("trace.descent.some", { shown: integer(found.total), total: integer(of.count) })
              : t("trace.area.slices", { count: integer(of.count) })}
          </span>
        )}
        {of.name && (
          <button type="button" class="link" onClick={() => void session.finder.find(of.name, true)}>
            {t("trace.slice.same")}
          </button>
        )}
        <a
          class="link"
          href={session.api.membersCsvUrl(ofArea, of.name)}
          download
          data-tip={t("trace.area.members.csv")}
        >
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
          columns={of.track === null ? ["row", ...FIGURES] : ["name", ...FIGURES]}
          compared={[["dur", "self", "clipped"]]}
          fetchRows={(query, signal) => session.api.members(ofArea, of.name, query, signal)}
        />
      )}
    </section>
  );
}
