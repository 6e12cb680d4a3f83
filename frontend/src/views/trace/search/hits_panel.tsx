/** All hits of the search in all ranks on the page, sorted by the server. */

import { integer } from "../../../base/format";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { Empty } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { SliceList } from "../slice_list";
import { inRanks, unsearchedTip } from "./rank_hits";

const COLUMNS = ["name", "start", "dur", "self", "row"];
const FIRST = { sort: "start", limit: 200 };

export function HitsPanel({ session }: { session: TraceSession }) {
  const { search, api } = session;
  const text = search.text.value;
  const total = search.total.value;
  const ranks = search.ranks.value;
  const columns = ranks.length > 1 ? ["name", "rank", ...COLUMNS.slice(1)] : COLUMNS;
  const ask = (signal: AbortSignal) => api.hits(text, FIRST, signal);
  const isFound = total > 0 && !search.busy.value;
  const { value: found, error } = useRequest([text, total, ranks, session.reading.value], isFound ? ask : null);
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
        {found && found.total < total && (
          <span class="muted">{t("trace.descent.some", { shown: integer(found.total), total: integer(total) })}</span>
        )}
        <span class="grow" />
        <a class="link" href={api.hitsCsvUrl(text)} download data-tip={t("trace.area.members.csv")}>
          CSV ↓
        </a>
      </div>
      {error && <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />}
      {!found && !error && <Empty text={t("state.loading")} />}
      {found && (
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
