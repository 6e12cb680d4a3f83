/** Label of a button that opens a menu. */
export function MenuLabel({ text }: { text: string }) {
  return (
    <>
      <span class="caption ellipsis trace-face">{text}</span>
      <span class="arrow" aria-hidden="true">
        ▾
      </span>
    </>
  );
}
