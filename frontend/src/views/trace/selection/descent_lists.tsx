/** What the selected slice led to: device tasks, nested slices. */

import { useMemo } from "preact/hooks";
import type { DescentJson, SliceDetailJson, TableJson } from "../../../api/types.gen";
import { duration, exactDuration, integer } from "../../../base/format";
import { t } from "../../../i18n";

import type { TraceSession } from "../session";
import { CsvLink, SliceList, SomeRows } from "../slice_list";
import { CollectiveList } from "./collective_tasks";
import { idsOf } from "./walk";

const TASKS = ["name", "row", "start", "dur", "delay", "queue"];
const COLLECTIVE = ["name", "plane", "source", "target", "start", "dur", "size_bytes", "transport"];
const NESTED = ["name", "start", "dur", "self", "tasks", "device"];

interface Props {
  session: TraceSession;
  detail: SliceDetailJson;
  descent: DescentJson;
}

export function DescentLists({ session, detail, descent }: Props) {
  const { tasks, nested, is_collective: isCollective } = descent;
  const [shownTasks, shownNested] = useMemo(() => [loaded(tasks), loaded(nested)], [descent]);
  const title = t(isCollective ? "trace.descent.collective" : "trace.descent.tasks");
  const isOnAllRanks = isCollective && session.ranks.all.value.length > 1;
  return (
    <>
      {isOnAllRanks && <CollectiveList session={session} detail={detail} />}
      {tasks.total > 0 && !isOnAllRanks && (
        <section>
          <h3 class="trace-sub trace-list-title">
            {title}
            <Sum session={session} descent={descent} />
            <SomeRows table={tasks} />
            <a class="link" href={session.api.descentCsvUrl(detail.id)} download data-tip={t("trace.descent.csv")}>
              CSV ↓
            </a>
          </h3>
          <SliceList
            session={session}
            name={title}
            table={shownTasks}
            columns={isCollective ? COLLECTIVE : TASKS}
            compared={isCollective ? [] : [["dur", "delay"]]}
            onOpen={() => session.selection.walk.begin(detail.id, idsOf(descent))}
          />
        </section>
      )}
      {nested.total > 0 && (
        <section>
          <h3 class="trace-sub trace-list-title">
            {t("trace.descent.nested")}
            <SomeRows table={nested} />
            <CsvLink table={nested} name="nested" />
          </h3>
          <SliceList
            session={session}
            name={t("trace.descent.nested")}
            table={shownNested}
            columns={NESTED}
            compared={[["dur", "self", "device"]]}
            isTree
          />
        </section>
      )}
    </>
  );
}

/** "76 tasks · 5.544 ms device time · 141.164 ms from the first start to the last end". */
function Sum({ session, descent }: Pick<Props, "session" | "descent">) {
  const { tasks, device_ns: device, first, last } = descent;
  if (first === null || last === null) return null;
  const count = t("trace.descent.count", { count: integer(tasks.total) });
  return (
    <span class="muted" data-tip={`${exactDuration(device)}\n${session.shownTime(first)} – ${session.shownTime(last)}`}>
      {count} · {t("trace.descent.device", { time: duration(device) })} ·{" "}
      {t("trace.descent.span", { time: duration(last - first), start: session.shownTime(first) })}
    </span>
  );
}

/** The loaded rows as a whole table: there is no route for further ones. */
function loaded(table: TableJson): TableJson {
  return { ...table, total: table.rows };
}
