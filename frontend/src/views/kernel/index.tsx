import type { KernelJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { STEP, WITHIN } from "../../state/period";
import { place, type Selection } from "../../state/selection";
import { type Answered, KernelRanks, spanView, TextButton } from "../../widgets";
import { KernelCharts } from "./charts";
import { usualQuery } from "./device";
import css from "./kernel.css?inline";
import { RooflineCard } from "./roofline";
import { KernelTables } from "./tables";

/** The tasks of the device: by kernel, by type, by core, one by one. */
export const view = spanView("kernel", Kernels, {
  css,
  obeys: [STEP, WITHIN],
  params: { peak: "kernel.peak", bandwidth: "kernel.bandwidth" },
  query: usualQuery,
  ofRange: "range.kernels",
});

function Kernels({ data, answer: { tables }, selection }: Answered<KernelJson>) {
  return (
    <div class="grid">
      {tables.types && <KernelCharts data={data} statistic={tables.statistic ?? null} types={tables.types} />}
      {data.roofline && <RooflineCard roofline={data.roofline} period={data.period} />}
      <KernelTables data={data} tables={tables} />
      <OtherRanks selection={selection} />
    </div>
  );
}

/** Kernel by rank, once the user asks for it: it reads all ranks of the run. */
function OtherRanks({ selection: { run, span } }: { selection: Selection }) {
  if (param(WITHIN) || (place.value?.run.workers.length ?? 0) < 2) return null;
  if (param("kernel.ranks")) return <KernelRanks run={run} span={span} isAsked />;
  return (
    <p>
      <TextButton onClick={() => setParams({ "kernel.ranks": "1" })}>{t("kernel_ranks.open")} →</TextButton>
    </p>
  );
}
