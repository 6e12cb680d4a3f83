import { duration, exactDuration } from "../base/format";
import { t } from "../i18n";
import { param, setParams } from "../state/params";
import type { ViewState } from "../state/use_view";
import { Button } from "./button";

/** Parameter of a time range that views show alone: "start,end", ns since 1970. */
export const WITHIN = "within";

interface Props {
  view: ViewState<unknown>;
  /** What the view shows of the range. */
  about: string;
}

/** The chosen time range, and a button that removes it; nothing without one. */
export function RangeChip({ view, about }: Props) {
  const [, start, end] = /^(\d+),(\d+)$/.exec(param(WITHIN)) ?? [];
  if (!start || !end) return null;
  const base = view.answer?.base_ns ?? "0";
  const from = base === "0" ? null : Number(BigInt(start) - BigInt(base)); // null until the view is there
  const length = Number(BigInt(end) - BigInt(start));
  return (
    <p class="range-chip">
      <Button
        look="control on"
        tip={`${t("range.clear")}\n${exactDuration(length)}`}
        onClick={() => setParams({ [WITHIN]: null })}
      >
        {t("range.chip", { start: from === null ? "…" : duration(from), length: duration(length) })}
        <span aria-hidden="true">✕</span>
      </Button>{" "}
      <span class="muted small">{about}</span>
    </p>
  );
}
