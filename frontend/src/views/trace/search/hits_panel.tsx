/** The hits of the search, by start. */

import { useMemo } from "preact/hooks";
import type { ColumnJson, TableJson } from "../../../api/types.gen";
import { absoluteNs, integer } from "../../../base/format";
import { t } from "../../../i18n";
import { findTrack, trackLabel } from "../../../timeline/rows";
import { DataTable, Empty } from "../../../widgets";
import { CsvLink } from "../csv_link";
import type { TraceSession } from "../session";

function column(key: string, kind: ColumnJson["kind"], title: string): ColumnJson {
  return { key, kind, title, doc: "", group: "" };
}

export function HitsPanel({ session }: { session: TraceSession }) {
  const { search } = session;
  const hits = search.hits.value;
  const table = useMemo(() => tableOf(session), [hits]);
  if (hits.length === 0) return <Empty text={t("trace.search.none")} />;
  const [first, shown, total] = [search.first.value, hits.length, search.total.value];
  return (
    <div>
      <div class="trace-title">
        <h2>{search.text.value}</h2>
        <span class="muted">
          {shown < total
            ? t("trace.search.some", { from: integer(first + 1), to: integer(first + shown), total: integer(total) })
            : t("trace.search.total", { total: integer(total) })}
        </span>
        <span class="grow" />
        <CsvLink table={table} name="found" />
      </div>
      <DataTable
        table={table}
        query={{}}
        baseNs={absoluteNs(session.base, session.data.zero) ?? ""}
        hasTools={false}
        columns={["name", "start", "duration", "process", "thread"]}
        onOpen={(row) => session.openHit(Number(row.get("hit")))}
      />
    </div>
  );
}

function tableOf(session: TraceSession): TableJson {
  const hits = session.search.hits.peek();
  const names = session.search.names.peek();
  const places = new Map<number, [string, string]>();
  for (const hit of hits) {
    if (places.has(hit[3])) continue;
    const found = findTrack(session.data.processes, hit[3]);
    places.set(hit[3], found ? [found.process.name, trackLabel(found.thread)] : ["", ""]);
  }
  return {
    id: "trace.found",
    columns: [
      column("name", "text", "Name"),
      column("start", "time", "Start"),
      column("duration", "duration", "Duration"),
      column("process", "text", "Process"),
      column("thread", "text", "Thread"),
      column("hit", "int", "#"),
    ],
    data: {
      name: hits.map((hit) => names[hit[5]] ?? ""),
      start: hits.map((hit) => hit[1] - session.data.zero),
      duration: hits.map((hit) => hit[2]),
      process: hits.map((hit) => places.get(hit[3])?.[0] ?? ""),
      thread: hits.map((hit) => places.get(hit[3])?.[1] ?? ""),
      hit: hits.map((_, index) => index),
    },
    offset: 0,
    rows: hits.length,
    total: hits.length,
    sort: "start",
    desc: false,
  };
}
