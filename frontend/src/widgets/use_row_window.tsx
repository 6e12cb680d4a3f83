import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePrinting } from "../base/use_media";
import { offsetOf, printedRows, type RowWindow, rowWindow } from "./table/window";

/** Shorter lists are in the document as a whole: fewer than 100 rows, whatever the height of the screen. */
const VIRTUAL_FROM = 60;
/** Rows of a list that is out of sight, at its nearer end: there when it comes into sight, and for readers of the document. */
const LEAST_ROWS = 20;

interface Options {
  count: number;
  rowPx: number;
  /** Row with details of `openPx` height below it; -1: none. */
  open?: number;
  openPx?: number;
  /** Whether a row is loaded; printing takes the first rows that are. */
  isHere?: (place: number) => boolean;
}

export interface ShownRows extends RowWindow {
  /** False if the rows are all there and take their own space. */
  isVirtual: boolean;
}

/**
 * The rows of a list that are in sight, whatever scrolls around it: a box of its own, a panel or the page. `box` holds the
 * rows and is as high as all of them.
 */
export function useRowWindow(
  box: { readonly current: HTMLElement | null },
  { count, rowPx, open = -1, openPx = 0, isHere = () => true }: Options,
): ShownRows {
  const isPrinted = usePrinting();
  const isVirtual = count > VIRTUAL_FROM && !isPrinted;
  const [part, setPart] = useState<Part>({ isShown: false, top: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !isVirtual) return;
    const around = clippers(element);
    const read = () => {
      const found = partInSight(element, around);
      setPart((before) => (isSame(before, found) ? before : found));
    };
    read();
    const observer = new ResizeObserver(read);
    for (const one of [element, ...around]) observer.observe(one);
    window.addEventListener("resize", read);
    document.addEventListener("scroll", read, { passive: true, capture: true });
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", read);
      document.removeEventListener("scroll", read, { capture: true });
    };
  }, [isVirtual, box]);
  if (isVirtual) {
    const height = part.isShown ? Math.max(part.height, LEAST_ROWS * rowPx) : 0;
    return { isVirtual, ...rowWindow(count, part.top, height, open, openPx, rowPx) };
  }
  return { isVirtual, from: 0, to: isPrinted ? printedRows(count, isHere) : count, top: 0, height: 0 };
}

/** The elements around one that cut it off. */
function clippers(element: HTMLElement): HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (getComputedStyle(at).overflowY !== "visible" && at !== document.body && at !== document.documentElement) {
      found.push(at);
    }
  }
  return found;
}

interface Part {
  /** False for an element that takes no space, such as one in a hidden panel. */
  isShown: boolean;
  /** What is in sight, px from the top of the element. */
  top: number;
  height: number;
}

function isSame(a: Part, b: Part): boolean {
  return a.isShown === b.isShown && a.top === b.top && a.height === b.height;
}

/** The part of an element that is in sight. */
function partInSight(element: HTMLElement, around: readonly HTMLElement[]): Part {
  const own = element.getBoundingClientRect();
  let [top, bottom] = [0, window.innerHeight];
  for (const one of around) {
    const box = one.getBoundingClientRect();
    [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  const from = Math.min(Math.max(top, own.top), own.bottom);
  return { isShown: own.height > 0, top: from - own.top, height: Math.max(0, Math.min(bottom, own.bottom) - from) };
}

/** Scrolls the box around a list so far that a row is in sight. `header`: px at the top of the box that cover rows. */
export function scrollToRow(element: HTMLElement, top: number, rowPx: number, header: number): void {
  const scroller = clippers(element).find((one) => one.scrollHeight > one.clientHeight) ?? document.scrollingElement;
  if (!scroller) return;
  const box = scroller === document.scrollingElement ? 0 : scroller.getBoundingClientRect().top;
  const at = element.getBoundingClientRect().top + top - box;
  const over = at - header;
  const under = at + rowPx - scroller.clientHeight;
  if (over < 0) scroller.scrollTop += over;
  else if (under > 0) scroller.scrollTop += under;
}

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
