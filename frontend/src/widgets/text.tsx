import type { ComponentChildren } from "preact";
import { duration, exactDuration, type Maybe } from "../base/format";
import { textWidth } from "../base/text_width";

/** Letters kept at the end: operator names differ at both ends. */
const TAIL = 8;
/** Shorter names are cut at the end. */
const FROM = 2 * TAIL;

/** A name that is cut in its middle if it does not fit. */
export function MiddleCut({ text }: { text: string }) {
  if (text.length < FROM) return <>{text}</>;
  // Blanks before the cut belong to the end: Firefox draws none at the end of a box.
  const head = text.slice(0, -TAIL).trimEnd();
  const tail = text.slice(head.length);
  // Slightly narrower than its text, so that rounding never cuts the rest.
  const room = Math.floor(textWidth(tail, "sans", 13)) - 1;
  return (
    <span class="middle-cut">
      <span class="head" style={{ maxWidth: `calc(100% - ${room}px)` }}>
        {head}
      </span>
      {tail}
    </span>
  );
}

/** A text that its tooltip shows as a whole where it is cut off. */
export function Cut({ class: more = "", children }: { class?: string; children: ComponentChildren }) {
  return (
    <span class={`ellipsis ${more}`} data-tip-cut>
      {children}
    </span>
  );
}

interface TimeProps {
  ns: Maybe;
  /** Default: in its largest unit. */
  text?: ComponentChildren;
  class?: string;
}

/** A time with every digit in its tooltip. */
export function Time({ ns, text = duration(ns), class: more = "" }: TimeProps) {
  return (
    <span class={`mono ${more}`} data-tip={exactDuration(ns)}>
      {text}
    </span>
  );
}
