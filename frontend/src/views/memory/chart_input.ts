import { type MutableRef, useEffect, useRef, useState } from "preact/hooks";
import type { Scale } from "../../widgets/scale";
import { neighbour, type Series } from "./series";

/** Less movement than this (px) is a click. */
const CLICK_PX = 4;
/** A second click within this time (ms) makes a double click and voids the first one. */
const DOUBLE_MS = 250;

interface Actions {
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  onPick?: (at: number) => void;
}

/**
 * Mouse and keys of a chart: drag zooms, double click and Escape reset, click and Enter pick a time, arrow keys step
 * through the records, "+" zooms in. `at`: the hovered time, ns; `from`: start of the drag, null without one.
 */
export function useChartInput(
  box: MutableRef<HTMLElement | null>,
  x: Scale,
  series: readonly Series[],
  actions: Actions,
) {
  const [at, setAt] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  const picking = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(picking.current), []);

  const clamp = (moment: number) => Math.round(Math.max(x.from, Math.min(x.to, moment)));
  const momentOf = (event: PointerEvent) =>
    clamp(x.value(event.clientX - (box.current?.getBoundingClientRect().left ?? 0)));
  const pick = (moment: number, delayMs: number) => {
    clearTimeout(picking.current);
    picking.current = setTimeout(() => actions.onPick?.(moment), delayMs);
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setFrom(momentOf(event));
    },
    onPointerMove: (event: PointerEvent) => setAt(momentOf(event)),
    onPointerUp: (event: PointerEvent) => {
      if (from === null) return;
      const to = momentOf(event);
      setFrom(null);
      if (Math.abs(x.pixel(to) - x.pixel(from)) < CLICK_PX) pick(to, DOUBLE_MS);
      else actions.onZoom(Math.min(from, to), Math.max(from, to));
    },
    onPointerCancel: () => setFrom(null),
    onPointerLeave: () => setAt(null),
    onDblClick: () => {
      clearTimeout(picking.current);
      actions.onReset();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const direction = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const here = at ?? clamp((x.from + x.to) / 2);
      if (direction !== 0) {
        event.preventDefault();
        setAt(clamp(neighbour(series, here, direction) ?? here));
      } else if (event.key === "Enter") pick(here, 0);
      else if (event.key === "Escape") actions.onReset();
      else if (event.key === "+") {
        const quarter = (x.to - x.from) / 4;
        actions.onZoom(clamp(here - quarter), clamp(here + quarter));
      }
    },
  };
  return { at, from, handlers };
}
