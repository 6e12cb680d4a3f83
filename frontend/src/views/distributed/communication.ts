import { t } from "../../i18n";
import type { BarPart } from "../../widgets";
import type { Figures } from "./ranks";

/** Parts of the elapsed time of all communication operators, in the order of the bar; they sum to it. */
const PARTS = [
  { id: "transit", color: "var(--c-comm)" },
  { id: "wait", color: "var(--c-prep)" },
  { id: "synchronization", color: "var(--c-mix)" },
  { id: "idle", color: "var(--c-wait)" },
] as const;

/** The bar parts of one rank. */
export function communicationParts(figures: Figures): BarPart[] {
  return PARTS.map(({ id, color }) => ({
    id,
    label: t(`distributed.part.${id}`),
    value: figures[id],
    color,
    help: t(`distributed.part.${id}.help`),
  }));
}
