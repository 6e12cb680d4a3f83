/** Chooses how the strips are grouped and sorted. */

import { duration } from "../../../base/format";
import { t } from "../../../i18n";
import { setParams } from "../../../state/params";
import { Select } from "../../../widgets";
import { KEYS } from "../link/link";
import type { RanksState } from "./ranks_state";
import { type Grouping, SORTS, type Sort, timeOf } from "./strip_layout";

export function OrderMenus({ ranks }: { ranks: RanksState }) {
  if (ranks.shown.value.length < 2) return null;
  const groupings: Grouping[] = ["none", ...ranks.groupings.value];
  return (
    <>
      {groupings.length > 1 && (
        <Select
          label={t("trace.group")}
          prefix
          value={ranks.grouping.value}
          options={groupings.map((id) => ({ id, label: groupingText(id) }))}
          onChange={(id) => setParams({ [KEYS.grouping]: id })}
        />
      )}
      <Select
        label={t("trace.sort")}
        prefix
        value={ranks.sort.value}
        options={SORTS.map((id) => ({ id, label: t(`trace.sort.${id}`), note: longest(ranks, id) }))}
        onChange={(id) => setParams({ [KEYS.sort]: id === "rank" ? null : id })}
      />
    </>
  );
}

function groupingText(id: Grouping): string {
  if (id === "none" || id === "stage" || id === "host") return t(`trace.group.${id}`);
  return id.replace("group:", "");
}

/** The figure of the rank that would be the first. */
function longest(ranks: RanksState, sort: Sort): string {
  const { parts } = ranks.known();
  const times = ranks.shown.value
    .flatMap(({ span }) => ranks.lineOf(span) ?? [])
    .map((line) => timeOf(line, parts, sort));
  const most = Math.max(0, ...times);
  return most > 0 ? duration(most) : "";
}
