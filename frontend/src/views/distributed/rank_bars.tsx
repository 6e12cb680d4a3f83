import type { ComponentChildren } from "preact";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { t, textOf } from "../../i18n";
import { useTable } from "../../state/use_request";
import {
  type BarPart,
  Button,
  Card,
  Cut,
  type DataTableProps,
  Empty,
  Legend,
  RowList,
  StackedBar,
  TableCard,
  Time,
  type Where,
  waitingHelp,
} from "../../widgets";
import { partColor, partIds, partTitle } from "../../widgets/parts";
import { type Bar, barsOf, type Figures, type RankLine, rankName } from "./ranks";

interface Props {
  title: string;
  subtitle: string;
  help: string;
  /** Why a rank has no figures, if not because of its files. */
  none?: string | undefined;
  /** Name of the saved files. */
  name: string;
  lines: readonly RankLine[];
  partsOf: (figures: Figures) => BarPart[];
  /** Sorts by total instead of by rank. */
  isLongestFirst: boolean;
  /** Span selected in the table below; "" for none. */
  chosen: string;
  onChoose: (line: RankLine) => void;
  /** True without a neighbour. */
  isWide?: boolean;
}

/** One bar per rank, all on the same scale. */
export function RankBars(props: Props) {
  const { title, subtitle, help, lines, chosen, none = t("distributed.none.figures") } = props;
  const bars = barsOf(lines, props.partsOf, props.isLongestFirst);
  const whole = Math.max(1, ...bars.map(({ parts }) => parts.reduce((sum, part) => sum + (part.value ?? 0), 0)));
  const totals = bars.map((bar) => bar.total);
  const unit = format.timeUnit(totals);
  const isRead = lines.every((line) => line.state.state === "ready");
  if (isRead && totals.every((total) => total === null)) {
    return (
      <Card title={title} help={help} class={props.isWide ? "" : "span-6"}>
        <Empty text={none} />
      </Card>
    );
  }
  return (
    <Card
      title={title}
      subtitle={`${subtitle}, ${unit.name}`}
      help={help}
      class={props.isWide ? "" : "span-6"}
      chart={{ name: props.name, csv: () => barsCsv(bars) }}
    >
      <BarList
        items={bars}
        bar={({ line, parts, total }) => (
          <Button
            key={line.id}
            look="bar-row dist-bar"
            disabled={line.figures === null}
            pressed={line.id === chosen}
            onClick={() => props.onChoose(line)}
          >
            <Cut>{rankName(line)}</Cut>
            {total === null ? (
              <Cut class="muted">{whyEmpty(line, none)}</Cut>
            ) : (
              <StackedBar thin whole={whole} parts={parts} />
            )}
            <Time ns={total} text={format.inUnit(total, unit)} />
          </Button>
        )}
      />
      <Legend parts={legendOf(bars)} />
    </Card>
  );
}

/** The data of the bars: one row per rank and part. */
function barsCsv(bars: readonly Bar[]): string {
  const rows = bars.flatMap(({ line, parts }) => parts.map(({ id, value }) => [rankName(line), id, value]));
  return csvText(["rank", "part", "ns"], rows);
}

/** The reason why a rank has no bar. */
function whyEmpty({ state, figures }: RankLine, none: string): string {
  if (state.state === "ready") return figures ? none : t("distributed.none.step");
  const text = t(`distributed.state.${state.state}`);
  return state.reason ? `${text}: ${textOf(state, "reason")}` : text;
}

/** Parts with a value in any bar, in the order of the bars. */
function legendOf(bars: readonly Bar[]): BarPart[] {
  const longest = [...bars].sort((a, b) => b.parts.length - a.parts.length);
  return [...new Map(longest.flatMap((bar) => bar.parts.map((part) => [part.id, part]))).values()];
}

/** The bar parts of one rank. */
export function communicationParts(figures: Figures): BarPart[] {
  // Without recorded operators, waiting alone is no bar.
  const isKnown = figures.rest !== null;
  return partIds("communication").map((id) => ({
    id,
    label: partTitle("communication", id),
    value: isKnown ? figures[id] : null,
    color: partColor("communication", id),
    help: id === "waiting" ? waitingHelp(figures.waiting_for) : t(`distributed.part.${id}.help`),
  }));
}

/** Above this number of ranks, bars are closer together. */
const CLOSE_FROM = 12;
/** Height of a bar with the gap below, px; same values in distributed.css. */
const BAR_PX = 30;
const CLOSE_PX = 18;

interface BarListProps<T> {
  items: readonly T[];
  /** The bar of an item, with a key. */
  bar: (item: T) => ComponentChildren;
  class?: string;
}

/** Bars of ranks below each other; many scroll. */
export function BarList<T>({ items, bar, class: name = "" }: BarListProps<T>) {
  const count = items.length;
  const isClose = count > CLOSE_FROM;
  const row = (place: number) => bar(items[place] as T);
  return (
    <div class={`dist-bars ${isClose ? "close" : ""} ${name}`}>
      <RowList count={count} rowPx={isClose ? CLOSE_PX : BAR_PX} row={row} class="dist-bar-rows" />
    </div>
  );
}

/** Tables of one rank as in its files. */
const TABLES = ["calls", "packets", "matrix"] as const;
/** Rows of the first request. */
const FIRST = 200;

interface RecordedProps {
  run: string;
  line: RankLine;
  where: readonly Where[];
  cell: NonNullable<DataTableProps["cell"]>;
}

/** Single operators, packets and links of one rank, as recorded. */
export function Recorded(props: RecordedProps) {
  return (
    <>
      {TABLES.map((name) => (
        <RecordedTable key={name} name={name} {...props} />
      ))}
    </>
  );
}

function RecordedTable({ name, run, line, where, cell }: RecordedProps & { name: (typeof TABLES)[number] }) {
  const query = { run, of: line.state.span };
  const { value: table } = useTable(`distributed.${name}`, { ...query, limit: FIRST });
  if (!table || table.total === 0) return null;
  const isKnown = (key: string) => table.data[key]?.some((value) => value !== null);
  const columns = table.columns.map(({ key }) => key).filter((key) => key !== "kind" && isKnown(key));
  return (
    <TableCard
      title={`${t(`distributed.${name}`)} · ${rankName(line)}`}
      help={t(`distributed.${name}.help`)}
      {...{ table, query, where, columns, cell }}
    />
  );
}
