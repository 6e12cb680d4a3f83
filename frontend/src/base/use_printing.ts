import { useEffect, useState } from "preact/hooks";
import { listen } from "./listen";

/** True while the page is printed, when scrolled content must be shown in full. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const media = window.matchMedia("print");
    const follow = () => setPrinting(media.matches);
    follow();
    const stops = [
      listen(media, { change: follow }),
      // These events arrive before the layout for printing, early enough to render the rows.
      listen(window, { beforeprint: () => setPrinting(true), afterprint: () => setPrinting(false) }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, []);
  return isPrinting;
}
