import { textWidth } from "../base/text_width";

/** Names of operators differ at both ends: this much of the end stays. */
const TAIL = 8;
/** Shorter names are cut at the end as all texts. */
const FROM = 2 * TAIL;

/** A name that gives way in its middle where there is no room for all of it. */
export function MiddleCut({ text }: { text: string }) {
  if (text.length < FROM) return <>{text}</>;
  // Blanks before the cut go with the end: Firefox draws none at the end of a box.
  const head = text.slice(0, -TAIL).trimEnd();
  const tail = text.slice(head.length);
  // A little less than its width: where there is room for all, rounding must not cut the rest.
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
