import { duration, exactDuration } from "../base/format";
import { t } from "../i18n";
import { param, setParams } from "../state/params";

/** Parameter of a time range that views show alone: "start,end", ns since 1970. */
export const WITHIN = "within";

/** The chosen time range, and a button that removes it; nothing without one. `baseNs`: origin of the view's times. */
export function RangeChip({ baseNs }: { baseNs: string }) {
  const [, start, end] = /^(\d+),(\d+)$/.exec(param(WITHIN)) ?? [];
  if (!start || !end) return null;
  const from = Number(BigInt(start) - BigInt(baseNs));
  const length = Number(BigInt(end) - BigInt(start));
  return (
    <p class="range-chip">
      <button
        type="button"
        class="control on"
        data-tip={`${t("range.clear")}\n+${exactDuration(from)}\n${exactDuration(length)}`}
        onClick={() => setParams({ [WITHIN]: null })}
      >
        {t("range.chip", { start: duration(from), length: duration(length) })}
        <span aria-hidden="true">✕</span>
      </button>{" "}
      <span class="muted small">{t("range.about")}</span>
    </p>
  );
}
