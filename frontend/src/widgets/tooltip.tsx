import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { listen, together } from "../base/listen";
import { t } from "../i18n";
import { Button } from "./button";
import { openGlossary } from "./glossary";

/** A "?" that explains a figure on hover and focus; a click opens the glossary. */
export function Help({ text }: { text: string }) {
  return (
    <Button look="help" tip={`${text}\n\n${t("glossary.open")}`} label={text} onClick={() => openGlossary(text)}>
      ?
    </Button>
  );
}

interface Shown {
  text: string;
  target: Element;
  anchor: DOMRect;
}

/** Id of the tooltip. */
const ID = "tooltip";

/**
 * The tooltip of the page. An element with `data-tip="text"` shows it on hover and focus; an element with `data-tip-
 * cut` shows its own text if that is cut off.
 */
export function TooltipLayer() {
  const [shown, setShown] = useState<Shown | null>(null);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    // A click also moves the focus, directly or through a popover that the tooltip must not cover.
    let isByKey = false;
    const show = (event: Event) => {
      if (event.type === "focusin" && !isByKey) return;
      const target = event.target instanceof Element ? event.target.closest("[data-tip], [data-tip-cut]") : null;
      const text = target ? tipOf(target as HTMLElement) : "";
      setShown(target && text ? { text, target, anchor: target.getBoundingClientRect() } : null);
    };
    const hide = () => setShown(null);
    const hideMoved = () => setShown((before) => (before && isInPlace(before) ? before : null));
    const onDown = () => {
      isByKey = false;
      hide();
    };
    const onKey = (event: KeyboardEvent) => {
      isByKey = true;
      if (event.key === "Escape") hide();
    };
    return together([
      listen(document, { pointerover: show, focusin: show, pointerdown: onDown, input: hide }),
      // Capture: scrolling does not bubble, and keys come before the handler that moves the focus.
      listen(document, { scroll: hideMoved, keydown: onKey }, { capture: true }),
    ]);
  }, []);

  // Screen readers read the tooltip, unless it equals the element's name.
  useEffect(() => {
    if (!shown || shown.target.getAttribute("aria-label") === shown.text) return;
    shown.target.setAttribute("aria-describedby", ID);
    return () => shown.target.removeAttribute("aria-describedby");
  }, [shown]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !shown) return;
    const { width, height } = element.getBoundingClientRect();
    const { anchor } = shown;
    const below = anchor.bottom + 6;
    const top = below + height > window.innerHeight ? Math.max(2, anchor.top - height - 6) : below;
    const middle = anchor.left + anchor.width / 2 - width / 2;
    element.style.left = `${Math.max(4, Math.min(window.innerWidth - width - 4, middle))}px`;
    element.style.top = `${top}px`;
  }, [shown]);

  if (!shown) return null;
  return (
    <div class="tooltip" role="tooltip" id={ID} ref={box}>
      {shown.text}
    </div>
  );
}

/** Whether a scroll left the element where it was. */
function isInPlace({ target, anchor }: Shown): boolean {
  const { x, y } = target.getBoundingClientRect();
  return x === anchor.x && y === anchor.y;
}

function tipOf(element: HTMLElement): string {
  if (element.dataset.tip) return element.dataset.tip;
  const isCut = [element, ...element.querySelectorAll(".middle-cut .head")].some(
    (part) => part.scrollWidth > part.clientWidth,
  );
  return isCut ? (element.textContent ?? "") : "";
}
