import type { KernelJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { param } from "../../state/params";
import { useAccepted, useView } from "../../state/use_view";
import { ViewFrame, WITHIN } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { KernelCharts } from "./charts";
import css from "./kernel.css?inline";
import { RooflineCard } from "./roofline";
import { KernelTables } from "./tables";

addStyle(css);

/** The tasks of the device: by kernel, by type, by core, one by one. */
function KernelView({ selection }: ViewProps) {
  const view = useView<KernelJson>("kernel", {
    span: selection.span,
    step: param("kernel.step"),
    within: param(WITHIN),
    peak: param("kernel.peak"),
    bandwidth: param("kernel.bandwidth"),
  });
  useAccepted(view, WITHIN, "kernel.step", "kernel.peak", "kernel.bandwidth");
  return (
    <ViewFrame view={view} ofRange={t("range.kernels")}>
      {(data, { tables }) => (
        <div class="grid">
          {tables.types && <KernelCharts data={data} statistic={tables.statistic ?? null} types={tables.types} />}
          {data.roofline && <RooflineCard roofline={data.roofline} period={data.period} />}
          <KernelTables data={data} tables={tables} />
        </div>
      )}
    </ViewFrame>
  );
}

export const view: ViewModule = { Component: KernelView };
