import type { Arrival, CollectiveArrivals, DistributedJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Card, lateRankName, Select, Time } from "../../widgets";
import { BarList } from "./rank_bars";
import { isInStep } from "./ranks";

/** The collectives of the chosen step whose arrivals are known. */
export function arrivalsOf(data: DistributedJson, step: string): CollectiveArrivals[] {
  return data.arrivals.filter((one) => isInStep(one.step, step));
}

/** The chosen collective, else that with the longest wait. */
export function chosenCollective(all: readonly CollectiveArrivals[], wanted: string): CollectiveArrivals | undefined {
  const longest = [...all].sort((a, b) => lastOf(b) - lastOf(a))[0];
  return all.find((one) => idOf(one) === wanted) ?? longest;
}

function idOf({ step, group, operator }: CollectiveArrivals): string {
  return `${step ?? ""} ${group ?? ""} ${operator}`;
}

/** Time from the first to the last known arrival, ns. */
function lastOf(one: CollectiveArrivals): number {
  return Math.max(0, ...one.arrivals.map(({ after }) => after ?? 0));
}

interface Props {
  data: DistributedJson;
  collectives: readonly CollectiveArrivals[];
  /** True without a neighbour. */
  isWide: boolean;
}

/** When each rank of a group arrived at one collective. */
export function Arrivals({ data, collectives, isWide }: Props) {
  const chosen = chosenCollective(collectives, param("d.arrival"));
  if (!chosen) return null;
  const last = lastOf(chosen);
  const unit = format.timeUnit(chosen.arrivals.map(({ after }) => after));
  const options = collectives.map((one) => ({
    id: idOf(one),
    label: one.operator,
    note: format.duration(lastOf(one), 2),
  }));
  return (
    <Card
      title={t("distributed.arrivals")}
      subtitle={t("distributed.arrivals.sub", { unit: unit.name })}
      help={t("distributed.arrivals.help")}
      class={isWide ? "" : "span-6"}
      actions={
        <Select
          label={t("distributed.arrivals.choose")}
          options={options}
          value={idOf(chosen)}
          onChange={(id) => setParams({ "d.arrival": id })}
        />
      }
      chart={{ name: "arrivals", csv: () => arrivalsCsv(chosen) }}
    >
      <BarList
        class="dist-arrivals"
        items={chosen.arrivals}
        bar={(arrival) => (
          <ArrivalBar key={`${arrival.rank} ${arrival.peer}`} arrival={arrival} last={last} unit={unit} />
        )}
      />
      <p class="muted small">{clockText(data)}</p>
    </Card>
  );
}

function ArrivalBar({ arrival, last, unit }: { arrival: Arrival; last: number; unit: format.Unit }) {
  const { after, source } = arrival;
  const isLast = after !== null && after === last && last > 0;
  const figure = format.inUnit(after, unit);
  return (
    <div class="bar-row dist-bar" data-tip={t(`distributed.arrivals.${source}`)}>
      <span>
        {lateRankName(arrival) || format.UNKNOWN}{" "}
        {source === "start" && <span class="muted">{t("distributed.arrivals.start")}</span>}
      </span>
      <span class="dist-track">
        <span class={isLast ? "last" : ""} style={{ width: `${(100 * (after ?? 0)) / Math.max(1, last)}%` }} />
      </span>
      <Time ns={after} text={source === "before" ? `≤ ${figure}` : figure} />
    </div>
  );
}

/** The offset of the only aligned clock, or the error of all. */
function clockText({ clocks }: DistributedJson): string {
  const [first] = clocks;
  if (!first) return "";
  if (clocks.length > 1) {
    const error = format.duration(Math.max(...clocks.map((clock) => clock.error)));
    return t("distributed.arrivals.clocks", { count: clocks.length + 1, error });
  }
  return t("distributed.arrivals.clock", {
    rank: first.rank ?? format.UNKNOWN,
    reference: first.reference ?? format.UNKNOWN,
    offset: format.duration(first.offset, 1),
    low: format.duration(first.low, 1),
    high: format.duration(first.high, 1),
    count: first.collectives,
  });
}

function arrivalsCsv(chosen: CollectiveArrivals): string {
  const rows = chosen.arrivals.map(({ rank, peer, after, source }) => [rank, peer, after, source]);
  return csvText(["rank", "peer", "after_ns", "source"], rows);
}
