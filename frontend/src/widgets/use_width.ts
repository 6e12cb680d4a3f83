import { type MutableRef, useLayoutEffect, useState } from "preact/hooks";

/** Width of an element in px, kept up to date; 0 until it is known. */
export function useWidth(box: MutableRef<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const read = () => setWidth(element.clientWidth);
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}

/** True while the element can be scrolled to the right, and so hides columns. */
export function useMoreRight(box: MutableRef<HTMLElement | null>): boolean {
  const [hasMore, setMore] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const read = () => setMore(element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, [box]);
  return hasMore;
}
