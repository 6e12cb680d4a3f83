import type { OperatorJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { useMedia } from "../../base/use_media";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Card, Donut, formatPick, parsePick, partsCsv, Select } from "../../widgets";
import { METRICS, type Metric, operatorParts } from "./parts";

const CHARTS = ["self", "total", "all"] as const;
const WIDE = "(min-width: 1900px)";
const TOPS = [3, 4, 5, 6, 7];
const TOP = 5;

/** The shown donuts: all four on a wide page, else those of self time. */
function useCharts(): { charts: string; metrics: readonly Metric[]; isWide: boolean } {
  const isWide = useMedia(WIDE);
  const charts = CHARTS.find((id) => id === param("operator.charts")) ?? (isWide ? "all" : "self");
  return { charts, isWide, metrics: METRICS.filter((metric) => charts === "all" || metric.endsWith(charts)) };
}

/** Two or four donuts of the same operators. A click on a part filters the table below. */
export function OperatorCharts({ data, table }: { data: OperatorJson; table: TableJson }) {
  const { metrics, isWide } = useCharts();
  const hasCommunication = param("operator.comm") === "1";
  const top = Number(param("operator.top")) || TOP;
  const pick = parsePick(param("operator.pick"));
  const width = isWide && metrics.length === 4 ? "span-3" : "span-6";
  return (
    <>
      {metrics.map((metric, index) => {
        const { parts, calls, unlisted } = operatorParts(table, data, metric, hasCommunication);
        return (
          <Card
            key={metric}
            class={width}
            title={t(`operator.${metric}`)}
            help={t(`operator.${metric}.help`)}
            actions={
              index === 0 ? (
                <Choices
                  hasCommunication={hasCommunication}
                  top={top}
                  canCommunicate={(data.communication_self_ns ?? 0) > 0}
                />
              ) : (
                <span class="muted">{t(hasCommunication ? "operator.comm.included" : "operator.comm.apart")}</span>
              )
            }
            chart={{ name: `operators-${metric.replace("_", "-")}`, csv: () => partsCsv("name", parts, unlisted) }}
          >
            <Donut
              parts={parts}
              unlisted={unlisted}
              none={metric.startsWith("device") ? t("operator.none.device") : undefined}
              most={top}
              under={t("operator.calls", { count: format.integer(calls) })}
              selected={pick?.column === "name" ? pick.value : null}
              onSelect={(id) => setParams({ "operator.pick": formatPick("name", id) })}
            />
          </Card>
        );
      })}
    </>
  );
}

interface ChoiceProps {
  hasCommunication: boolean;
  canCommunicate: boolean;
  top: number;
}

function Choices({ hasCommunication, canCommunicate, top }: ChoiceProps) {
  return (
    <>
      {canCommunicate && (
        <Select
          label={t("operator.comm.label")}
          class="plain"
          options={(["apart", "included"] as const).map((id) => ({ id, label: t(`operator.comm.${id}`) }))}
          value={hasCommunication ? "included" : "apart"}
          onChange={(id) => setParams({ "operator.comm": id === "included" ? "1" : null })}
        />
      )}
      <Select
        label={t("operator.top.label")}
        class="plain"
        options={TOPS.map((count) => ({ id: String(count), label: t("operator.top", { count }) }))}
        value={String(top)}
        onChange={(id) => setParams({ "operator.top": id === String(TOP) ? null : id })}
      />
    </>
  );
}

/** The self/total switch. */
export function ChartChoice() {
  const { charts } = useCharts();
  return (
    <Select
      label={t("operator.charts")}
      prefix
      options={CHARTS.map((id) => ({ id, label: t(`operator.charts.${id}`) }))}
      value={charts}
      onChange={(id) => setParams({ "operator.charts": id })}
    />
  );
}
