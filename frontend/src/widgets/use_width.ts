import { type MutableRef, useLayoutEffect, useState } from "preact/hooks";
import { listen } from "../base/listen";

/** What `read` finds of an element, kept up to date while its size, that of its content or its scroll position changes. */
function useMeasure<T>(box: MutableRef<HTMLElement | null>, unknown: T, read: (element: HTMLElement) => T): T {
  const [found, setFound] = useState(unknown);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const update = () => setFound(() => read(element));
    update();
    const observer = new ResizeObserver(update);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    const stop = listen(element, { scroll: update }, { passive: true });
    return () => {
      observer.disconnect();
      stop();
    };
  }, [box]);
  return found;
}

/** Width of an element in px; 0 until it is known. */
export const useWidth = (box: MutableRef<HTMLElement | null>) => useMeasure(box, 0, ({ clientWidth }) => clientWidth);

/** True while the element can be scrolled to the right, and so hides columns. */
export const useMoreRight = (box: MutableRef<HTMLElement | null>) =>
  useMeasure(box, false, (element) => element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
