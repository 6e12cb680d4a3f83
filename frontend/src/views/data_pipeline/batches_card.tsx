import type { Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, t } from "../../i18n";
import { Card, DataTable } from "../../widgets";
import { type QueueSeries, queueSeries } from "./batches";
import { Samples } from "./samples";

/** The step gap by batch: queue sizes, and the time to get and push a batch. */
export function BatchesCard({ table, query, baseNs }: { table: TableJson; query: Query; baseNs: string }) {
  const isCut = table.rows < table.total;
  const cut = t("data.batches.cut", { rows: format.integer(table.rows), total: format.integer(table.total) });
  return (
    <Card title={t("data.batches")} subtitle={isCut ? cut : t("data.batches.sub")}>
      {queueSeries(table).map((series) => (
        <QueueFigure key={series.queue} series={series} />
      ))}
      <DataTable table={table} query={query} baseNs={baseNs} />
    </Card>
  );
}

function QueueFigure({ series }: { series: QueueSeries }) {
  const costs = (["get", "push", "total"] as const).filter((key) => series[key] !== null);
  const isKnown = series.average !== null;
  return (
    <figure class="data-samples">
      <figcaption>
        <strong>{t(`data.queue.${series.queue}` as Key)}</strong>{" "}
        <span class="muted">
          {isKnown &&
            t("data.queue.average", {
              average: format.fixedDecimals(series.average, 2),
              capacity: series.capacity ?? t("core.unknown"),
            })}
          {costs.map((key) => ` · ${t(`data.cost.${key}`, { time: format.duration(series[key]) })}`)}
        </span>
      </figcaption>
      {isKnown && series.size.length > 1 && (
        <Samples
          label={t("data.queue.by.batch")}
          at={series.batch}
          unit="batch"
          sizes={series.size}
          top={series.capacity}
          average={series.average}
        />
      )}
    </figure>
  );
}
