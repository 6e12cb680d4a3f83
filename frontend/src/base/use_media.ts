import { useEffect, useState } from "preact/hooks";
import { listen, together } from "./listen";

/** True if the media query matches. Keeps its value while TensorBoard hides the tab (by giving it no height). */
export function useMedia(query: string): boolean {
  const [fits, setFits] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const read = () => {
      if (window.innerHeight > 0) setFits(media.matches);
    };
    read(); // the page may have changed since the first render
    return listen(media, { change: read });
  }, [query]);
  return fits;
}

/** True while the page is printed, when scrolled content must be shown in full. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const media = window.matchMedia("print");
    const follow = () => setPrinting(media.matches);
    follow();
    return together([
      listen(media, { change: follow }),
      // These events arrive before the layout for printing, early enough to render the rows.
      listen(window, { beforeprint: () => setPrinting(true), afterprint: () => setPrinting(false) }),
    ]);
  }, []);
  return isPrinting;
}
