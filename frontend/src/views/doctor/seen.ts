import type { DoctorFileJson, SeenJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";

/** The kinds of content, the largest parts of a file first. */
const KINDS = ["rows", "events", "entries", "columns", "cells"] as const;
type Amount = "seen" | "shown" | "told" | "silent";

/** What of a count is neither shown nor told. */
function silentOf({ seen, shown, told }: SeenJson): number {
  return seen - shown - told;
}

/** "12,345 rows, 3 columns": the sums of each kind that is not 0. */
function sums(counts: readonly SeenJson[], amount: Amount, kinds: readonly SeenJson["kind"][] = KINDS): string {
  return kinds
    .map((kind) => [kind, counts.filter((count) => count.kind === kind)] as const)
    .map(
      ([kind, own]) =>
        [kind, own.reduce((sum, one) => sum + (amount === "silent" ? silentOf(one) : one[amount]), 0)] as const,
    )
    .filter(([, count]) => count !== 0)
    .map(([kind, count]) => t(`doctor.kind.${kind}`, { count: format.integer(count) }))
    .join(t("doctor.and"));
}

/** The counts of a file without those of lists inside its entries. */
function mainCounts({ seen }: DoctorFileJson): SeenJson[] {
  const whole = new Set(seen.filter((one) => !one.part).map((one) => one.kind));
  return seen.filter((one) => !one.part || !whole.has(one.kind));
}

/** The content of a file in its main unit. */
export function seenText(file: DoctorFileJson): string {
  const main = KINDS.find((kind) => file.seen.some((count) => count.kind === kind));
  return main === undefined ? "" : sums(mainCounts(file), "seen", [main]);
}

/** What of a file no view shows. */
export function toldText({ seen }: DoctorFileJson): string {
  return sums(seen, "told");
}

/** One line for each count: what was seen, shown and told. */
export function balanceText({ seen }: DoctorFileJson): string {
  return seen
    .map((count) => {
      const line = t("doctor.seen.line", {
        seen: sums([count], "seen") || t(`doctor.kind.${count.kind}`, { count: "0" }),
        shown: format.integer(count.shown),
        told: format.integer(count.told),
      });
      return count.part ? `${count.part}: ${line}` : line;
    })
    .join("\n");
}

/** What all files held, and the proof that none of it was lost silently; "" where nothing was counted. */
export function proofText(files: readonly DoctorFileJson[]): string {
  const counts = files.flatMap((file) => file.seen);
  if (counts.length === 0) return "";
  const kinds = ["rows", "events", "entries"] as const;
  const told = sums(counts, "told", kinds);
  const seen = sums(files.flatMap(mainCounts), "seen", kinds);
  return told ? t("doctor.proof.told", { seen, told }) : t("doctor.proof", { seen });
}

/** What is neither shown nor told, by file: a defect of this program. */
export function silentFiles(files: readonly DoctorFileJson[]): string[] {
  return files
    .filter((file) => file.seen.some((count) => silentOf(count) !== 0))
    .map((file) => `${file.file}: ${sums(file.seen, "silent")}`);
}
