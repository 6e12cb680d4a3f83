import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { offsetOf } from "./table/window";
import { scrollToRow, useRowWindow } from "./use_row_window";

interface Props {
  count: number;
  /** Height of each row with the gap to the next, px; the style sheet must agree. */
  rowPx: number;
  /** The row at a place, with a key. */
  row: (place: number) => ComponentChildren;
  class?: string;
  /** Row to scroll to when it changes; -1: none. */
  at?: number;
  /** Least width as a CSS length, where the rows decide it: it must not change while they scroll. */
  minWidth?: string;
}

/** Rows of one height; the document holds those in sight. */
export function RowList({ count, rowPx, row, class: name = "", at = -1, minWidth }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRowWindow(box, { count, rowPx });
  useEffect(() => {
    if (at >= 0 && box.current) scrollToRow(box.current, offsetOf(at, -1, 0, rowPx), rowPx, 0);
  }, [at]);
  const style = shown.isVirtual
    ? { height: `${shown.height}px`, paddingTop: `${shown.top}px`, alignContent: "start", overflow: "hidden" }
    : {};
  return (
    <div ref={box} class={name} style={{ ...style, ...(minWidth ? { minWidth } : {}) }}>
      {Array.from({ length: shown.to - shown.from }, (_, index) => row(shown.from + index))}
    </div>
  );
}
