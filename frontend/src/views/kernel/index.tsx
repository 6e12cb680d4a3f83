import type { KernelJson } from "../../api/types.gen";
import { param } from "../../state/params";
import { useAccepted, useView } from "../../state/use_view";
import { ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { KernelCharts } from "./charts";
import { KernelTables } from "./tables";

/** The tasks of the device: by kernel, by type, by core, one by one. */
function KernelView({ selection }: ViewProps) {
  const view = useView<KernelJson>("kernel", { span: selection.span, step: param("kernel.step") });
  useAccepted(view, "kernel.step");
  return (
    <ViewFrame view={view}>
      {(data, { tables, base_ns: baseNs }) => (
        <div class="grid">
          {tables.types && <KernelCharts data={data} statistic={tables.statistic ?? null} types={tables.types} />}
          <KernelTables data={data} tables={tables} query={view.query} baseNs={baseNs} />
        </div>
      )}
    </ViewFrame>
  );
}

export const view: ViewModule = { Component: KernelView };
