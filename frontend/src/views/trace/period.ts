/** The step or the range that the header chooses, in the Trace view. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { StepMarkJson } from "../../api/types.gen";
import { param, params, visits } from "../../state/params";
import { type ChosenPeriod, chosenPeriod, STEP } from "../../state/period";
import { originOf } from "../../timeline/decode";
import type { Range } from "../../timeline/scene";
import { KEYS } from "./link/link";
import type { TraceSession } from "./session";

/** Margin beside the chosen range, as a share. */
const MARGIN = 0.05;
/** Parameters that say where a link leads; without any of them, it leads to what is chosen. */
const PLACES: readonly string[] = [KEYS.range, KEYS.area, KEYS.slice, KEYS.part, "find", "at"];

/** What the view showed last: the choice, the visit in which it was made, and the place. It outlives the view. */
let shown = { choice: "", visit: -1, place: "" };

const placeOf = () =>
  PLACES.map((key) => params.peek()[key] ?? "")
    .join(" ")
    .trim();

/** The chosen range in ns after `base` (ns since 1970); null: unknown. A step of several devices lasts until the last ends. */
export function rangeOf({ key, value }: ChosenPeriod, base: string, steps: readonly StepMarkJson[]): Range | null {
  if (key === STEP) {
    const own = steps.filter(({ step }) => step === value);
    if (own.length === 0) return null;
    return { start: Math.min(...own.map(({ start }) => start)), end: Math.max(...own.map(({ end }) => end)) };
  }
  if (!/^\d+,\d+$/.test(value)) return null;
  const [start = 0, end = 0] = value.split(",").map((time) => originOf(time, base));
  return end > start ? { start, end } : null;
}

/** Moves the view to what is chosen: when it opens with a link that leads nowhere else, and when the choice changes. */
export function useChosenPeriod(session: TraceSession): void {
  const chosen = chosenPeriod();
  const choice = chosen ? `${chosen.key}=${chosen.value}` : "";
  const steps = session.steps.all.value;
  const link = useMemo(placeOf, []);
  const isOpen = useRef(false);
  const isLinked = param("find") !== "" || param("at") !== "";
  useEffect(() => {
    const visit = visits.peek();
    const isChange = shown.visit === visit && shown.choice !== choice && (isOpen.current || link === shown.place);
    const isFree = !isOpen.current && link === "" && placeOf() === "";
    const range = chosen && !isLinked && (isChange || isFree) ? rangeOf(chosen, session.base, steps) : null;
    if (chosen?.key === STEP && !range && session.steps.isPending) return; // they are read
    shown = { ...shown, choice, visit };
    isOpen.current = true;
    if (range) session.showPeriod(range, MARGIN);
  }, [choice, steps]);
  useEffect(() => {
    return () => {
      shown.place = placeOf();
    };
  }, []);
}
