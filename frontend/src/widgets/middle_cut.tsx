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
