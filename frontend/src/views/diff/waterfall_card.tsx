import type { DiffLedgerJson, EntryTimeJson, WaterfallRowJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { setParams } from "../../state/params";
import { Card, Empty, Segments, Select, TableHead } from "../../widgets";
import { message, partColor, say } from "../../widgets/parts";
import { direction, lookOf } from "./classes";
import { type BarRow, isBounded, numbersOf, pairsOf, waterfallCsv, waterfallOf } from "./waterfall";

interface Props {
  data: DiffLedgerJson;
  /** Letters of the two captures. */
  pair: string;
  period: Period;
  isPreliminary: boolean;
}

/** More pairs are chosen in a list. */
const MOST_SEGMENTS = 3;

/** The entries of the ledgers from the step of one capture to that of the other. */
export function WaterfallCard({ data, pair, period, isPreliminary }: Props) {
  const [before, after] = numbersOf(data.names, pair);
  const pairs = pairsOf(data.names).map((id) => ({ id, label: `${id[0]} → ${id[1]}` }));
  const onChange = (id: string) => setParams({ "x.pair": id });
  const Choice = pairs.length > MOST_SEGMENTS ? Select : Segments;
  return (
    <Card
      title={t("diff.entries")}
      subtitle={isPreliminary ? t("diff.entries.preliminary") : tOf(period, "diff.entries.hint")}
      help={tOf(period, "diff.entries.help")}
      actions={pairs.length > 1 && <Choice label={t("diff.pair")} options={pairs} value={pair} onChange={onChange} />}
      chart={{ name: "diff-entries", csv: () => waterfallCsv(data, (row) => say(row.title)) }}
    >
      {data.waterfall.length === 0 ? (
        <Empty text={t("diff.none.entries")} />
      ) : (
        <Table data={data} numbers={[before, after]} period={period} />
      )}
    </Card>
  );
}

function Table({ data, numbers, period }: Pick<Props, "data" | "period"> & { numbers: [number, number] }) {
  const unit = format.timeUnit(data.steps);
  const { rows, ticks, place } = waterfallOf(data, numbers, unit);
  const text = (ns: number | null | undefined) => (ns == null ? format.UNKNOWN : format.inUnit(ns, unit));
  const signed = (ns: number) => format.signedDecimals(ns / unit.scale, unit.scale === 1 ? 0 : 2);
  const [before, after] = numbers;
  const [first = "", last = ""] = [data.names[before], data.names[after]];
  const [from, to] = [data.steps[before] ?? 0, data.steps[after] ?? 0];
  const figures = { data, numbers, text };
  return (
    <div class="waterfall-frame">
      <table class="waterfall">
        <TableHead
          cells={[
            [message("ledger.column.entry")],
            ...data.names.map((name, at) => [name, figureClass(at, numbers)] as const),
            [<Axis key="axis" ticks={ticks} place={place} unit={unit.name} />, "bars"],
            [`${last} − ${first}`, "mono"],
            [t("diff.running"), "mono", t("diff.running.help")],
          ]}
        />
        <tbody>
          <tr class="sum first">
            <th scope="row">{t("diff.entries.first", { name: first })}</th>
            {data.names.map((name, at) => (
              <td key={name} class={figureClass(at, numbers)}>
                {at === before && text(from)}
              </td>
            ))}
            <td class="bars">
              <Mark at={place(from)} label={text(from)} grid={ticks.map(({ value }) => place(value))} />
            </td>
            <td />
            <td />
          </tr>
          {rows.map((bar) => (
            <tr key={say(bar.row.title)}>
              <Entry row={bar.row} />
              <Figures {...figures} row={bar.row} />
              <td class="bars">
                <Bar bar={bar} label={signed(bar.difference)} grid={ticks.map(({ value }) => place(value))} />
              </td>
              <Difference ns={bar.difference} text={signed(bar.difference)} />
              <td class="mono" data-tip={format.exactDuration(bar.running)}>
                {text(bar.running)}
              </td>
            </tr>
          ))}
          <tr class="sum">
            <th scope="row">{tOf(period, "diff.sum.step")}</th>
            {data.steps.map((ns, at) => (
              <td key={data.names[at]} class={figureClass(at, numbers)} data-tip={format.exactDuration(ns)}>
                {text(ns)}
              </td>
            ))}
            <td class="bars">
              <Mark at={place(to)} label={text(to)} grid={ticks.map(({ value }) => place(value))} />
            </td>
            <Difference ns={to - from} text={signed(to - from)} />
            <td class="mono">{text(to)}</td>
          </tr>
          {data.rows
            .filter((row) => row.is_beside)
            .map((row) => (
              <tr key={say(row.title)} class="beside" data-tip={tOf(period, "diff.entries.beside")}>
                <Entry row={row} />
                <Figures {...figures} row={row} />
                <td class="bars" />
                <Change row={row} numbers={numbers} signed={signed} />
                <td />
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

const figureClass = (at: number, numbers: readonly number[]) => `mono ${numbers.includes(at) ? "" : "muted"}`;

function Entry({ row }: { row: WaterfallRowJson }) {
  const part = row.part as Parameters<typeof partColor<"ledger">>[1];
  return (
    <th scope="row">
      <i
        class={`swatch ${isOpen(row) ? "hatched" : ""}`}
        style={{ backgroundColor: partColor("ledger", part) }}
        aria-hidden="true"
      />
      {say(row.title)}
    </th>
  );
}

/** True if it is not known what the time is, or how long it is. */
const isOpen = ({ part, times }: WaterfallRowJson) => part.startsWith("unexplained") || times.some(isBounded);

interface FiguresProps {
  data: DiffLedgerJson;
  row: WaterfallRowJson;
  numbers: readonly number[];
  text: (ns: number | null | undefined) => string;
}

function Figures({ data, row, numbers, text }: FiguresProps) {
  return (
    <>
      {row.times.map((time, at) => (
        <td key={data.names[at]} class={figureClass(at, numbers)} data-tip={tipOf(time)}>
          {text(time?.ns)}
          {time && isBounded(time) && (
            <div class="muted">{message("ledger.range", { low: text(time.low_ns), high: text(time.high_ns) })}</div>
          )}
        </td>
      ))}
    </>
  );
}

const tipOf = (time: EntryTimeJson | null) => (time ? format.exactDuration(time.ns) : t("diff.entries.unknown"));

function Difference({ ns, text }: { ns: number; text: string }) {
  return (
    <td class={`mono ${lookOf(ns, text)}`} data-tip={format.exactDuration(ns)}>
      {text}
    </td>
  );
}

function Change(props: { row: WaterfallRowJson; numbers: readonly [number, number]; signed: (ns: number) => string }) {
  const [before, after] = props.numbers.map((at) => props.row.times[at]?.ns);
  if (before === undefined || after === undefined) return <td class="mono">{format.UNKNOWN}</td>;
  return <Difference ns={after - before} text={props.signed(after - before)} />;
}

const percent = (share: number) => `${100 * share}%`;

function Axis(props: {
  ticks: readonly { value: number; label: string }[];
  place: (ns: number) => number;
  unit: string;
}) {
  return (
    <div class="waterfall-axis" aria-hidden="true">
      {props.ticks.map(({ value, label }, at) => (
        <span key={label} style={{ left: percent(props.place(value)) }}>
          {at === 0 ? `${label} ${props.unit}` : label}
        </span>
      ))}
    </div>
  );
}

/** Lines at the ticks. */
function Grid({ places }: { places: readonly number[] }) {
  return (
    <>
      {places.map((at) => (
        <i key={at} class="tick" style={{ left: percent(at) }} />
      ))}
    </>
  );
}

/** A bar between two running sums; the figures of its row say the same. */
function Bar({ bar, label, grid }: { bar: BarRow; label: string; grid: readonly number[] }) {
  const look = lookOf(bar.difference, label) === "" ? "same" : direction(bar.difference);
  return (
    <div class="waterfall-bar" aria-hidden="true">
      <Grid places={grid} />
      <i class={`bar ${look}`} style={{ left: percent(bar.left), width: percent(bar.width) }} />
      <Label at={bar.left + bar.width} start={bar.left} look={lookOf(bar.difference, label)} text={label} />
    </div>
  );
}

/** The step of a capture. */
function Mark({ at, label, grid }: { at: number; label: string; grid: readonly number[] }) {
  return (
    <div class="waterfall-bar" aria-hidden="true">
      <Grid places={grid} />
      <i class="bar mark" style={{ left: percent(at) }} />
      <Label at={at} start={at} look="" text={label} />
    </div>
  );
}

/** Room that a label needs, as a share of the axis. */
const LABEL = 0.18;

/** A label stands right of its bar, else left of it, else in it. */
function Label({ at, start, look, text }: { at: number; start: number; look: string; text: string }) {
  const isRight = at < 1 - LABEL;
  const isInside = !isRight && start < LABEL;
  const style = isRight
    ? { left: `calc(${percent(at)} + 6px)` }
    : isInside
      ? { left: `calc(${percent(start)} + 6px)` }
      : { right: `calc(${percent(1 - start)} + 6px)` };
  return (
    <b class={isInside ? "inside" : look} style={style}>
      {text}
    </b>
  );
}
