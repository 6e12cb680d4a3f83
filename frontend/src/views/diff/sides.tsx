import * as format from "../../base/format";
import { t } from "../../i18n";
import { places, workerName } from "../../state/catalog";
import { setParams } from "../../state/params";
import type { Selection } from "../../state/selection";
import { Button, SimulatedMark } from "../../widgets";

/** Names both sides, with a button that swaps them; the sidebar chooses them. */
export function Sides({ selection }: { selection: Selection }) {
  const { baseline, experimental } = selection;
  return (
    <div class="diff-sides">
      <Side name={t("diff.baseline")} token={baseline} />
      <Side name={t("diff.experimental")} token={experimental} />
      <Button
        tip={t("diff.swap.tip")}
        // The other side may number its steps differently: reset the chosen step.
        onClick={() => setParams({ baseline: experimental, experimental: baseline, "x.step": null }, true)}
      >
        ⇄ {t("diff.swap")}
      </Button>
    </div>
  );
}

function Side({ name, token }: { name: string; token: string }) {
  const place = places.value.get(token);
  const label = place ? [place.run.label, workerName(place.worker), place.span.label].filter(Boolean).join(" · ") : "";
  return (
    <span class="diff-side">
      <span class="ellipsis" data-tip-cut>
        <span class="muted">{name}</span> <span class="mono">{label || format.UNKNOWN}</span>
      </span>
      <SimulatedMark span={place?.span} />
    </span>
  );
}
