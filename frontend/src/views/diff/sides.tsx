import type { DiffJson, DiffSideJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { places, workerName } from "../../state/catalog";
import { setParams } from "../../state/params";
import type { Selection } from "../../state/selection";
import { Button, type Option, Select } from "../../widgets";

/** What is compared with what: a choice of both sides, and a button that swaps them. */
export function Sides({ selection }: { selection: Selection }) {
  const options = spanOptions();
  const { baseline, experimental } = selection;
  return (
    <div class="row">
      <span class="muted">{t("diff.baseline")}</span>
      <Select
        label={t("diff.baseline")}
        class="diff-side"
        options={options}
        value={baseline}
        onChange={(id) => compare(id, experimental)}
      />
      <Button tip={t("diff.swap.tip")} onClick={() => compare(experimental, baseline)}>
        ⇄ {t("diff.swap")}
      </Button>
      <span class="muted">{t("diff.experimental")}</span>
      <Select
        label={t("diff.experimental")}
        class="diff-side"
        options={options}
        value={experimental}
        onChange={(id) => compare(baseline, id)}
      />
    </div>
  );
}

/** Steps of other captures may have other names: the choice of a step ends with the choice of the sides. */
function compare(baseline: string, experimental: string): void {
  setParams({ baseline, experimental, "x.step": null }, true);
}

function spanOptions(): Option[] {
  return [...places.value.values()].map(({ run, worker, span }) => ({
    id: span.id,
    label: [run.label, workerName(worker), span.label].filter(Boolean).join(" · "),
  }));
}

/** Device time of each side and their difference, with sign and share. */
export function Totals({ data }: { data: DiffJson }) {
  return (
    <div class="row small muted">
      <SideFacts name={t("diff.baseline")} side={data.baseline} />
      <SideFacts name={t("diff.experimental")} side={data.experimental} />
    </div>
  );
}

function SideFacts({ name, side }: { name: string; side: DiffSideJson }) {
  return (
    <span data-tip={`${t("diff.kernels.time.help")}\n${format.exactDuration(side.device_ns)}`}>
      {t("diff.facts", {
        name,
        kernels: format.integer(side.kernels),
        time: format.duration(side.device_ns),
      })}
    </span>
  );
}
