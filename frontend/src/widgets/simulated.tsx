import type { SpanJson } from "../api/types.gen";
import { t } from "../i18n";

/** Marks a capture whose device side nobody measured: figures of it must not pass for a real device's. */
export function SimulatedMark({ span }: { span: SpanJson | undefined }) {
  if (!span?.simulated) return null;
  return (
    <span class="chip warn" data-tip={t("simulated.tip")}>
      {t("simulated")}
    </span>
  );
}
