import { useEffect, useState } from "preact/hooks";

/** The page is being printed: what else scrolls has to be there whole. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const media = window.matchMedia("print");
    const follow = () => setPrinting(media.matches);
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    follow();
    media.addEventListener("change", follow);
    // These come early enough for the rows to be made before the page is laid out.
    window.addEventListener("beforeprint", begin);
    window.addEventListener("afterprint", end);
    return () => {
      media.removeEventListener("change", follow);
      window.removeEventListener("beforeprint", begin);
      window.removeEventListener("afterprint", end);
    };
  }, []);
  return isPrinting;
}
