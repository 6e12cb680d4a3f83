import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { DiffJson, TableJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { lang, t, tOf } from "../../i18n";
import { places } from "../../state/catalog";
import { param, setParams } from "../../state/params";
import {
  Button,
  Card,
  DataTable,
  Empty,
  type Filter,
  pageColumn,
  type Row,
  RowFacts,
  Segments,
  Select,
  TextButton,
  type Where,
} from "../../widgets";
import { ViewLink } from "../../widgets/view_link";
import { className } from "./class_chart";
import {
  byChange,
  CHANGES,
  type Change,
  changeClass,
  changeWhere,
  lookOf,
  MEAN,
  signedShare,
  TIMES,
  WHOLE,
  withSign,
} from "./classes";
import { bothTimelines, placeOf } from "./trace_link";

const TABS = ["operators", "kernels", "types", "shapes", "calls", "api", "memory"] as const;
type Tab = (typeof TABS)[number];
/** Tabs that stay without their table, and say so. */
const LASTING: readonly Tab[] = ["operators", "kernels"];

interface Props {
  tables: ViewJson["tables"];
  /** Selected class of kernels; "" for all. */
  chosen: string;
  data: DiffJson;
}

/** Columns of a time (or size) in one unit: both captures, the others, and the difference. */
function sidesOf(time: string, { captures, baseline, experimental }: DiffJson, unit = "ns"): string[] {
  const others = captures.map(({ name }) => name).filter((name) => ![baseline.name, experimental.name].includes(name));
  return ["baseline", "experimental", ...others.map((name) => name.toLowerCase()), "difference"].map(
    (side) => `${side}${time}_${unit}`,
  );
}

/** Operators or kernels of both sides, row by row. */
export function Tables({ tables, chosen, data }: Props) {
  const tab = TABS.find((id) => id === param("x.tab")) ?? (tables.operators ? "operators" : "kernels");
  const change = CHANGES.find((id) => id === param("x.change")) ?? "any";
  const table = tables[tab];
  const tools = (
    <Segments
      label={t("diff.tables")}
      options={TABS.filter((id) => LASTING.includes(id) || tables[id]).map((id) => ({
        id,
        label: t(`diff.tab.${id}`),
        tip: t(`diff.tab.${id}.tip`),
      }))}
      value={tab}
      onChange={(id) => setParams({ "x.tab": id, "x.class": null, "x.name": null, "x.group": null, "x.type": null })}
    />
  );
  const filter = (
    <Select
      label={t("diff.change")}
      prefix
      options={CHANGES.map((id) => ({ id, label: t(`diff.change.${id}`) }))}
      value={change}
      onChange={(id) => setParams({ "x.change": id === "any" ? null : id })}
    />
  );
  if (!table) {
    return (
      <Card>
        {tools}
        <Empty text={t("diff.none.table")} />
      </Card>
    );
  }
  return (
    <Card>
      <Rows key={tab} {...{ table, tab, tools, filter, change, chosen, data }} hasCalls={Boolean(tables.calls)} />
    </Card>
  );
}

interface RowsProps extends Omit<Props, "tables"> {
  table: TableJson;
  tab: Tab;
  tools: ComponentChildren;
  filter: ComponentChildren;
  change: Change;
  hasCalls: boolean;
}

function Rows({ table, tab, tools, filter, change, chosen, data, hasCalls }: RowsProps) {
  const { shown, period } = data;
  const isOperators = tab === "operators";
  const time = TIMES.find((id) => id === param("x.time")) ?? "device_self";
  const suffix = isOperators ? `_${time}` : "";
  const unit = tab === "memory" ? "bytes" : "ns";
  const ofCalls = tab === "calls" ? OF_CALLS_PARAMS.filter((id) => param(id)) : [];
  const where: Where[] = changeWhere(change, `changed${suffix}`);
  where.push(...ofCalls.map((id) => ({ column: OF_CALLS[id], value: param(id) })));
  const filters = [...changeFilters(change), ...(tab === "calls" ? callsFilters() : [])];
  const type = tab === "shapes" ? param("x.type") : "";
  if (type) {
    where.push({ column: "type", value: type });
    filters.push({ label: type, clear: () => setParams({ "x.type": null }) });
  }
  const clear = () => setParams({ "x.class": null });
  const isOfClass = chosen !== "" && tab === "kernels";
  if (isOfClass) {
    where.push({ column: "class", value: chosen });
    filters.push({ label: `${t("diff.class")}: ${className(chosen)}`, clear });
  }
  const sorted = useMemo(() => byChange(withCalls(table), `difference${suffix}_${unit}`), [table, suffix, lang.value]);
  const isOfAll = isOperators || tab === "api";
  const each = isOfAll
    ? shown !== WHOLE && t("diff.operators.each")
    : tab !== "memory" && shown === MEAN && tOf(period, "diff.each");
  return (
    <DataTable
      name={t(`diff.tab.${tab}`)}
      table={sorted}
      columns={[...KEYS[tab], ...sidesOf(suffix, data, unit), `ratio${suffix}`]}
      compared={["", ...TIMES.map((id) => `_${id}`)].map((one) => sidesOf(one, data, unit))}
      where={where}
      filters={filters}
      cell={isOperators ? OPERATOR_CELLS : tab === "memory" ? MEMORY_CELLS : KERNEL_CELLS}
      details={(row) => (
        <Details table={sorted} tab={tab} row={row} hasCalls={hasCalls && tab === "kernels"} data={data} />
      )}
      tools={tools}
      moreTools={
        <>
          {isOperators && (
            <Select
              label={t("diff.time")}
              prefix
              options={TIMES.map((id) => ({ id, label: t(`diff.time.${id}`), tip: t(`diff.time.${id}.tip`) }))}
              value={time}
              onChange={(id) => setParams({ "x.time": id === "device_self" ? null : id })}
            />
          )}
          {filter}
          {each && <span class="chip">{each}</span>}
          <Sum data={data} tab={tab} />
          {isOfClass && (
            <Button look="chip" label={t("diff.class.clear")} onClick={clear}>
              {className(chosen)} ✕
            </Button>
          )}
        </>
      }
    />
  );
}

/** The columns that say what a row is. */
const KEYS: Readonly<Record<Tab, readonly string[]>> = {
  operators: ["name", "baseline_calls"],
  kernels: ["name", "group", "class", "core", "baseline_calls"],
  types: ["type", "baseline_calls"],
  shapes: ["type", "input_shapes", "baseline_calls"],
  calls: ["name", "group", "number"],
  api: ["level", "name", "baseline_calls"],
  memory: ["component", "figure"],
};

/** The sum of all rows, of both captures. */
function Sum({ data, tab }: { data: DiffJson; tab: Tab }) {
  const { sums, captures, baseline, experimental } = data;
  const times = sums.find(({ table }) => table === tab)?.ns ?? [];
  const [before, after] = [baseline, experimental].map(({ name }) => {
    const at = captures.findIndex((one) => one.name === name);
    return times[at] ?? null;
  });
  if (before == null || after == null) return null;
  const change = format.signedDuration(after - before);
  return (
    <span class="small" data-tip={t("diff.sum.rows.tip")}>
      {t("diff.sum.rows", { before: format.duration(before, 2), after: format.duration(after, 2) })}{" "}
      <b class={lookOf(after - before, change)}>{change}</b>
    </span>
  );
}

/** The operation and group whose calls are listed, by parameter and column. */
const OF_CALLS = { "x.name": "name", "x.group": "group" } as const;
const OF_CALLS_PARAMS = ["x.name", "x.group"] as const;

function callsFilters(): Filter[] {
  const clear = () => setParams({ "x.name": null, "x.group": null });
  const chosen = OF_CALLS_PARAMS.map(param).filter(Boolean).join(" · ");
  return chosen ? [{ label: chosen, clear }] : [];
}

/** The text of the condition on the change. */
function changeFilters(change: Change): Filter[] {
  if (change === "any") return [];
  const label = `${t("diff.change")}: ${t(`diff.change.${change}`)}`;
  return [{ label, clear: () => setParams({ "x.change": null }) }];
}

/** All times of a row, and links to the trace of each capture. */
function Details(props: { table: TableJson; tab: Tab; row: Row; hasCalls: boolean; data: DiffJson }) {
  const { table, tab, row, hasCalls } = props;
  const name = row.get("name");
  const times = table.columns.filter((column) => column.group === "time");
  return (
    <RowFacts table={{ ...table, columns: times }} row={row}>
      {typeof name === "string" && row.get("class") === "communication" && hasCalls && (
        <TextButton
          onClick={() => {
            const group = row.get("group");
            setParams({ "x.tab": "calls", "x.name": name, "x.group": typeof group === "string" ? group : null });
          }}
        >
          {t("diff.calls")} →
        </TextButton>
      )}
      {tab === "types" && (
        <TextButton onClick={() => setParams({ "x.tab": "shapes", "x.type": String(row.get("type")) })}>
          {t("diff.shapes")} →
        </TextButton>
      )}
      {typeof name === "string" && tab !== "api" && <TraceLinks {...props} name={name} />}
    </RowFacts>
  );
}

/** Links to a kernel or operator in the trace of each capture that has it, and in both timelines. */
function TraceLinks({ row, data, name }: { row: Row; data: DiffJson; name: string }) {
  const sides = (["baseline", "experimental"] as const).filter((side) => row.get(`${side}_calls`) !== 0);
  const both = sides.length === 2 && bothTimelines([data.baseline.span, data.experimental.span], null);
  return (
    <>
      {sides.map((side) => {
        const place = places.value.get(data[side].span);
        return (
          place && (
            <ViewLink view="trace" key={side} state={{ ...placeOf(place), find: name, at: null }}>
              {t("diff.trace", { name: data[side].name })} →
            </ViewLink>
          )
        );
      })}
      {both && data.baseline.span !== data.experimental.span && (
        <ViewLink view="trace" state={{ ...both, find: name }}>
          {t("diff.trace.both")} →
        </ViewLink>
      )}
    </>
  );
}

/** The table with one title for the calls of both sides. */
function withCalls(table: TableJson): TableJson {
  const both = pageColumn("baseline_calls", "float", t("diff.both_calls"), t("diff.both_calls.help"));
  return { ...table, columns: table.columns.map((column) => (column.key === both.key ? both : column)) };
}

/** Calls of both sides: "2 → 3". */
function calls(row: Row) {
  const figure = (key: string) => {
    const value = row.get(key);
    return format.decimal(typeof value === "number" ? value : null, 2);
  };
  return `${figure("baseline_calls")} → ${figure("experimental_calls")}`;
}

/** Difference and ratio with their sign, coloured by direction. */
function differenceCells(suffix: string, unit = "ns") {
  const difference = `difference${suffix}_${unit}`;
  const ratio = `ratio${suffix}`;
  return {
    [difference]: (row: Row, text: string) => {
      const value = row.get(difference);
      const isSeen = typeof value === "number" && /[1-9]/.test(text);
      return isSeen ? <span class={changeClass(value)}>{withSign(value, text)}</span> : text;
    },
    [ratio]: (row: Row, text: string) => {
      const value = row.get(ratio);
      if (typeof value === "number") return <span class={changeClass(value)}>{signedShare(value)}</span>;
      return row.get("baseline_calls") === 0 ? <span class="muted">{t("diff.new")}</span> : text;
    },
  };
}

const OPERATOR_CELLS = {
  ...Object.fromEntries(TIMES.flatMap((id) => Object.entries(differenceCells(`_${id}`)))),
  baseline_calls: calls,
};
const MEMORY_CELLS = differenceCells("", "bytes");
const KERNEL_CELLS = {
  ...differenceCells(""),
  baseline_calls: calls,
  class: (row: Row) => className(String(row.get("class") ?? "")),
};
