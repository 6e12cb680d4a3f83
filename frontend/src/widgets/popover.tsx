import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { listen, together } from "../base/listen";

interface Props {
  /** Content of the button. */
  label: ComponentChildren;
  /** Draws an arrow after it. */
  arrow?: boolean;
  /** Name for screen readers, and tooltip. */
  tip?: string;
  /** Name for screen readers only, if the content does not describe the button. */
  name?: string;
  class?: string;
  disabled?: boolean;
  /** Kind of panel, for screen readers. */
  popup?: "listbox" | "dialog";
  /** Content while open. `close` closes and gives the focus back. */
  children: (close: () => void) => ComponentChildren;
}

/** While the panel is open, Escape and events outside its parts close it. */
function useClosing(
  isOpen: boolean,
  [button, panel]: readonly [RefObject<HTMLElement>, RefObject<HTMLElement>],
  close: () => void,
  leave: () => void,
): void {
  useEffect(() => {
    if (!isOpen) return;
    const onDown = (event: Event) => {
      const target = event.target as Node;
      if (!panel.current?.contains(target) && !button.current?.contains(target)) leave();
    };
    const onScroll = (event: Event) => {
      if (!panel.current?.contains(event.target as Node)) leave();
    };
    // On the document: a click on text in the panel removes the focus.
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && close();
    return together([
      listen(document, { pointerdown: onDown, keydown: onKey }),
      listen(document, { scroll: onScroll }, { capture: true }),
      listen(window, { resize: leave }),
    ]);
  }, [isOpen]);
}

/** A button that opens a panel below it (above if there is no room). Escape, a click outside and scrolling close it. */
export function Popover({ label, arrow, tip, name, class: more = "", popup = "dialog", ...props }: Props) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  useLayoutEffect(() => {
    if (isOpen && button.current && panel.current) placeBelow(panel.current, button.current.getBoundingClientRect());
  }, [isOpen]);

  useClosing(isOpen, [button, panel], close, () => setOpen(false));

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      close();
    } else if (event.key === "ArrowDown" && !isOpen) {
      event.preventDefault();
      setOpen(true);
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only listens for Escape from its parts
    <span onKeyDown={onKeyDown} style={{ display: "contents" }}>
      <button
        type="button"
        ref={button}
        id={id}
        class={`control ${more}`}
        aria-haspopup={popup}
        aria-expanded={isOpen}
        aria-label={name ?? tip}
        data-tip={tip}
        disabled={props.disabled}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
        {arrow && (
          <span class="arrow" aria-hidden="true">
            ▾
          </span>
        )}
      </button>
      {isOpen && (
        <div class="popover" ref={panel} {...(popup === "dialog" ? { role: "dialog", "aria-labelledby": id } : {})}>
          {props.children(close)}
        </div>
      )}
    </span>
  );
}

function placeBelow(panel: HTMLElement, anchor: DOMRect): void {
  const below = window.innerHeight - anchor.bottom - 10;
  const above = anchor.top - 10;
  const isBelow = below >= Math.min(panel.scrollHeight, 260) || below >= above;
  panel.style.maxHeight = `${Math.max(80, Math.min(480, isBelow ? below : above))}px`;
  panel.style.minWidth = `${anchor.width}px`;
  const { width, height } = panel.getBoundingClientRect();
  panel.style.left = `${Math.max(4, Math.min(anchor.left, window.innerWidth - width - 4))}px`;
  panel.style.top = `${isBelow ? anchor.bottom + 3 : Math.max(4, anchor.top - height - 3)}px`;
}
