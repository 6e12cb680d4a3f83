import type { SpanJson } from "../api/types.gen";
import { t } from "../i18n";

/** Marks a capture of a simulated device, whose figures are not measured. */
export function SimulatedMark({ span }: { span: SpanJson | undefined }) {
  if (!span?.simulated) return null;
  return (
    <span class="chip warn" data-tip={t("simulated.tip")}>
      {t("simulated")}
    </span>
  );
}
