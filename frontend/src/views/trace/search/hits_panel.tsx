/** All hits of the search in all ranks on the page, sorted by the server. */

import { useEffect, useState } from "preact/hooks";
import type { TableJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import { Empty } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { SliceList } from "../slice_list";
import { inRanks, unsearchedTip } from "./rank_hits";

const COLUMNS = ["name", "start", "dur", "self", "row"];
const FIRST = { sort: "start", limit: 200 };

export function HitsPanel({ session }: { session: TraceSession }) {
  const { search, api } = session;
  const [found, setFound] = useState<TableJson | string | null>(null);
  const text = search.text.value;
  const total = search.total.value;
  const ranks = search.ranks.value;
  const columns = ranks.length > 1 ? ["name", "rank", ...COLUMNS.slice(1)] : COLUMNS;
  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    if (total === 0 || search.busy.value) return;
    api.hits(text, FIRST, abort.signal).then(setFound, (error) => {
      if (!abort.signal.aborted) setFound(messageOf(error));
    });
    return () => abort.abort();
  }, [text, total, ranks, session.reading.value]);
  if (search.error.value) return <Empty text={messageOf(search.error.value)} />;
  if (search.busy.value) return <Empty text={t("state.loading")} />;
  if (total === 0) return <Empty text={t("trace.search.none")} />;
  return (
    <div>
      <div class="trace-title">
        <h2>{text}</h2>
        <span class="muted" data-tip={unsearchedTip(ranks)}>
          {inRanks(t("trace.search.total", { total: integer(total) }), ranks)}
        </span>
        {found && typeof found !== "string" && found.total < total && (
          <span class="muted">{t("trace.descent.some", { shown: integer(found.total), total: integer(total) })}</span>
        )}
        <span class="grow" />
        <a class="link" href={api.hitsCsvUrl(text)} download data-tip={t("trace.area.members.csv")}>
          CSV ↓
        </a>
      </div>
      {found === null && <Empty text={t("state.loading")} />}
      {typeof found === "string" && <Empty text={t("trace.area.failed", { message: found })} />}
      {found && typeof found !== "string" && (
        <SliceList
          session={session}
          name="found"
          table={found}
          columns={columns}
          compared={[["dur", "self"]]}
          fetchRows={(query, signal) => api.hits(text, query, signal)}
          onOpen={(id) => search.openSlice(id)}
        />
      )}
    </div>
  );
}
