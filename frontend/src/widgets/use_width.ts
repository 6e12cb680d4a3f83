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
