import { useEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../../base/clipboard";
import type { Row } from "./columnar";
import type { Rows } from "./rows";
import type { Fold } from "./unfold";

interface Options {
  rows: Rows;
  /** True if rows have details. */
  hasDetails: boolean;
  onOpen: ((row: Row) => void) | undefined;
  fold: Fold | null;
  /** Key whose change resets the choice. */
  of: string;
  /** Key whose change closes the details, as rows move. */
  closes: string;
}

/**
 * Up, Down, Right, Left and Enter, clicks on rows, and Ctrl C for the cell under the pointer. `at`: the active row (keyboard or last click);
 * `open`: that with open details; -1: none. `reset`: after the rows changed.
 */
export function useRowChoice({ rows, hasDetails, onOpen, fold, of, closes }: Options) {
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(-1);
  const hovered = useRef<HTMLElement | null>(null);
  const reset = () => {
    setAt(-1);
    setOpen(-1);
  };
  useEffect(reset, [of]);
  useEffect(() => setOpen(-1), [closes]);

  const choose = (place: number) => {
    setAt(place);
    const row = rows.at(place);
    if (onOpen && row) onOpen(row);
    else if (hasDetails) setOpen(open === place ? -1 : place);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, .row-details")) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt(Math.max(0, Math.min((rows.count ?? 1) - 1, at + step)));
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const row = rows.at(at);
      if (row && !row.below && fold && fold.isOpen(row) === (event.key === "ArrowLeft")) fold.toggle(row);
    } else if (event.key === "Enter" && at >= 0 && !target.closest("button, a")) {
      choose(at);
    } else if (event.key === "c" && (event.ctrlKey || event.metaKey) && window.getSelection()?.isCollapsed) {
      const copied = hovered.current?.dataset.copy;
      if (copied !== undefined) void copyText(copied);
    }
  };
  const onClick = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>(".data-row.body");
    const isMarking = window.getSelection()?.isCollapsed === false;
    if (row && !isMarking && !target.closest(".fold") && (hasDetails || onOpen)) choose(Number(row.dataset.place));
  };
  const onPointerOver = (event: PointerEvent) =>
    (hovered.current = (event.target as HTMLElement).closest<HTMLElement>("[data-copy]"));
  return { at, open, reset, onKeyDown, onClick, onPointerOver };
}
