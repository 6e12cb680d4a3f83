/** All hits of the search, sorted by the server. */

import { useEffect, useState } from "preact/hooks";
import type { TableJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import { Empty } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { SliceList } from "../slice_list";

const COLUMNS = ["name", "start", "dur", "self", "row"];
const FIRST = { sort: "start", limit: 200 };

export function HitsPanel({ session }: { session: TraceSession }) {
  const { search, api, data } = session;
  const [found, setFound] = useState<TableJson | string | null>(null);
  const text = search.text.value;
  const total = search.total.value;
  const range = { start: data.slices_start ?? 0, end: (data.slices_end ?? 0) + 1 };
  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    if (total === 0) return;
    api.hits(text, range, FIRST, abort.signal).then(setFound, (error) => {
      if (!abort.signal.aborted) setFound(messageOf(error));
    });
    return () => abort.abort();
  }, [text, total, session.reading.value]);
  if (search.error.value) return <Empty text={messageOf(search.error.value)} />;
  if (search.busy.value) return <Empty text={t("state.loading")} />;
  if (total === 0) return <Empty text={t("trace.search.none")} />;
  return (
    <div>
      <div class="trace-title">
        <h2>{text}</h2>
        <span class="muted">{t("trace.search.total", { total: integer(total) })}</span>
        {found && typeof found !== "string" && found.total < total && (
          <span class="muted">{t("trace.descent.some", { shown: integer(found.total), total: integer(total) })}</span>
        )}
        <span class="grow" />
        <a class="link" href={api.hitsCsvUrl(text, range)} download data-tip={t("trace.area.members.csv")}>
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
          columns={COLUMNS}
          compared={[["dur", "self"]]}
          fetchRows={(query, signal) => api.hits(text, range, query, signal)}
          onOpen={(id) => search.openSlice(id)}
        />
      )}
    </div>
  );
}
