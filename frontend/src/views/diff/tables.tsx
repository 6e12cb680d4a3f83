import type { ComponentChildren } from "preact";
import { useContext, useMemo } from "preact/hooks";
import type { TableJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { lang, type Period, t, tOf } from "../../i18n";
import { places } from "../../state/catalog";
import { param, setParams } from "../../state/params";
import { openView } from "../../state/selection";
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
  ViewSource,
  type Where,
} from "../../widgets";
import { className } from "./class_chart";
import {
  byChange,
  CHANGES,
  type Change,
  changeClass,
  changeWhere,
  MEAN,
  signedShare,
  TIMES,
  WHOLE,
  withSign,
} from "./classes";

type Tab = "operators" | "kernels" | "calls";
const TABS: readonly Tab[] = ["operators", "kernels", "calls"];

interface Props {
  tables: ViewJson["tables"];
  /** Selected class of kernels; "" for all. */
  chosen: string;
  /** Id of the pair of steps, MEAN or WHOLE. */
  shown: string;
  period: Period;
}

/** Baseline, experimental and difference of a time, in one unit. */
const sidesOf = (time: string) => ["baseline", "experimental", "difference"].map((side) => `${side}${time}_ns`);
const COMPARED = [sidesOf(""), ...TIMES.map((id) => sidesOf(`_${id}`))];

/** Operators or kernels of both sides, row by row. */
export function Tables({ tables, chosen, shown, period }: Props) {
  const tab = TABS.find((id) => id === param("x.tab")) ?? (tables.operators ? "operators" : "kernels");
  const change = CHANGES.find((id) => id === param("x.change")) ?? "any";
  const table = tables[tab];
  const tools = (
    <Segments
      label={t("diff.tables")}
      options={TABS.filter((id) => id !== "calls" || tables.calls).map((id) => ({
        id,
        label: t(`diff.tab.${id}`),
        tip: t(`diff.tab.${id}.tip`),
      }))}
      value={tab}
      onChange={(id) => setParams({ "x.tab": id, "x.class": null, "x.name": null, "x.group": null })}
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
      <Rows
        key={tab}
        {...{ table, tab, tools, filter, change, chosen, shown, period }}
        hasCalls={Boolean(tables.calls)}
      />
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

function Rows({ table, tab, tools, filter, change, chosen, shown, period, hasCalls }: RowsProps) {
  const isOperators = tab === "operators";
  const time = TIMES.find((id) => id === param("x.time")) ?? "device_self";
  const suffix = isOperators ? `_${time}` : "";
  const ofCalls = tab === "calls" ? OF_CALLS_PARAMS.filter((id) => param(id)) : [];
  const where: Where[] = changeWhere(change, `changed${suffix}`);
  where.push(...ofCalls.map((id) => ({ column: OF_CALLS[id], value: param(id) })));
  const filters = [...changeFilters(change), ...(tab === "calls" ? callsFilters() : [])];
  const clear = () => setParams({ "x.class": null });
  const isOfClass = chosen !== "" && tab === "kernels";
  if (isOfClass) {
    where.push({ column: "class", value: chosen });
    filters.push({ label: `${t("diff.class")}: ${className(chosen)}`, clear });
  }
  const sorted = useMemo(() => byChange(withCalls(table), `difference${suffix}_ns`), [table, suffix, lang.value]);
  const each = isOperators ? shown !== WHOLE && t("diff.operators.each") : shown === MEAN && tOf(period, "diff.each");
  return (
    <DataTable
      name={t(`diff.tab.${tab}`)}
      table={sorted}
      columns={[...KEYS[tab], ...sidesOf(suffix), `ratio${suffix}`]}
      compared={COMPARED}
      where={where}
      filters={filters}
      cell={isOperators ? OPERATOR_CELLS : KERNEL_CELLS}
      details={(row) => <Details table={sorted} row={row} hasCalls={hasCalls} />}
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
  calls: ["name", "group", "number"],
};

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

/** All times of a row, and links to the trace of each side. */
function Details({ table, row, hasCalls }: { table: TableJson; row: Row; hasCalls: boolean }) {
  const { query } = useContext(ViewSource);
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
      {(["baseline", "experimental"] as const).map((side) => {
        const place = places.value.get(String(query[side] ?? ""));
        if (!place || typeof name !== "string" || row.get(`${side}_calls`) === 0) return null;
        const { run, worker, span } = place;
        return (
          <TextButton
            key={side}
            onClick={() => openView("trace", { run: run.id, worker: worker.id, span: span.id, find: name })}
          >
            {t(`diff.trace.${side}`)} →
          </TextButton>
        );
      })}
    </RowFacts>
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
function differenceCells(suffix: string) {
  const difference = suffix ? `difference${suffix}_ns` : "difference_ns";
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
const KERNEL_CELLS = {
  ...differenceCells(""),
  baseline_calls: calls,
  class: (row: Row) => className(String(row.get("class") ?? "")),
};
