import { useEffect, useState } from "preact/hooks";
import { listen } from "./listen";

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
