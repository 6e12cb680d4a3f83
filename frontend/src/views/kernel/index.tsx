import type { KernelJson } from "../../api/types.gen";
import { STEP, WITHIN } from "../../state/period";
import { type Answered, spanView } from "../../widgets";
import { KernelCharts } from "./charts";
import css from "./kernel.css?inline";
import { RooflineCard } from "./roofline";
import { KernelTables } from "./tables";

/** The tasks of the device: by kernel, by type, by core, one by one. */
export const view = spanView("kernel", Kernels, {
  css,
  obeys: [STEP, WITHIN],
  params: { peak: "kernel.peak", bandwidth: "kernel.bandwidth" },
  ofRange: "range.kernels",
});

function Kernels({ data, answer: { tables } }: Answered<KernelJson>) {
  return (
    <div class="grid">
      {tables.types && <KernelCharts data={data} statistic={tables.statistic ?? null} types={tables.types} />}
      {data.roofline && <RooflineCard roofline={data.roofline} period={data.period} />}
      <KernelTables data={data} tables={tables} />
    </div>
  );
}
