import { type MutableRef, useLayoutEffect, useState } from "preact/hooks";

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
