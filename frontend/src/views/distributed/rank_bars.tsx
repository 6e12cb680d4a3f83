import * as format from "../../base/format";
import { t } from "../../i18n";
import { type BarPart, Card, Empty, Legend, StackedBar } from "../../widgets";
import { type Figures, type Part, type RankLine, rankName, sumOf } from "./ranks";

interface Props {
  title: string;
  subtitle: string;
  help: string;
  lines: readonly RankLine[];
  partsOf: (figures: Figures) => Part[];
  /** Colour and words of a part. */
  describe: (id: string) => { label: string; color: string; help: string };
  /** Parts that are drawn but stand outside of the sum. */
  outside?: string;
  /** Span whose rank is singled out in the table below; "" for none. */
  chosen: string;
  onChoose: (line: RankLine) => void;
}

/** More ranks than this are drawn closer together, and scroll. */
const CLOSE_FROM = 12;

/** One bar per rank, all to the same scale, so that a rank that differs is seen at once. */
export function RankBars({ title, subtitle, help, lines, partsOf, describe, outside, chosen, onChoose }: Props) {
  const bars = lines.map((line) => ({ line, parts: line.figures ? partsOf(line.figures) : [] }));
  const whole = Math.max(1, ...bars.map(({ parts }) => sumOf(parts) ?? 0));
  const inside = (parts: readonly Part[]) => sumOf(parts.filter((part) => part.id !== outside));
  const totals = bars.map(({ parts }) => inside(parts));
  const unit = format.columnUnit(format.TIME_UNITS, totals);
  const drawn = legendOf(bars.map(({ parts }) => parts)).map((id) => toBar({ id, value: null }, describe));
  if (totals.every((total) => total === null) && lines.every((line) => line.state.state === "ready")) {
    return (
      <Card title={title} help={help} class="span-6">
        <Empty text={t("distributed.none.figures")} />
      </Card>
    );
  }
  return (
    <Card title={title} subtitle={`${subtitle}, ${unit.name}`} help={help} class="span-6">
      <div class={`dist-bars ${lines.length > CLOSE_FROM ? "close" : ""}`}>
        {bars.map(({ line, parts }, index) => (
          <button
            type="button"
            key={line.id}
            class="dist-bar"
            aria-pressed={line.id === chosen}
            onClick={() => onChoose(line)}
            disabled={line.figures === null}
          >
            <span class="ellipsis" data-tip-cut>
              {rankName(line.state)}
            </span>
            {totals[index] === null || totals[index] === undefined ? (
              <span class="muted ellipsis" data-tip-cut>
                {whyEmpty(line)}
              </span>
            ) : (
              <StackedBar thin whole={whole} parts={parts.map((part) => toBar(part, describe))} />
            )}
            <span class="mono" data-tip={format.exactDuration(totals[index])}>
              {figure(totals[index], unit)}
            </span>
          </button>
        ))}
      </div>
      <Legend parts={drawn} />
    </Card>
  );
}

function figure(total: number | null | undefined, unit: format.Unit): string {
  return typeof total === "number" ? format.fixed(total / unit.scale, unit.scale === 1 ? 0 : 2) : format.UNKNOWN;
}

/** Why a rank has no bar. */
function whyEmpty({ state, figures }: RankLine): string {
  if (state.state === "ready") return figures ? t("distributed.none.figures") : t("distributed.none.step");
  const text = t(`distributed.state.${state.state}`);
  return state.reason ? `${text}: ${state.reason}` : text;
}

/** Parts that occur anywhere, in the order of the bars. */
function legendOf(bars: readonly (readonly Part[])[]): string[] {
  const longest = [...bars].sort((a, b) => b.length - a.length)[0] ?? [];
  return longest.map((part) => part.id);
}

function toBar(part: Part, describe: Props["describe"]): BarPart {
  return { id: part.id, value: part.value, ...describe(part.id) };
}
