import type { ComponentChildren } from "preact";

interface Props {
  onClick: () => void;
  children: ComponentChildren;
  /** Tooltip; also the name for screen readers if the content is a sign. */
  tip?: string;
  disabled?: boolean;
  /** Pressed state of a toggle. */
  on?: boolean;
  /** Without frame, for bars. */
  plain?: boolean;
}

/** A button 28 px high. */
export function Button({ onClick, children, tip, disabled = false, on, plain = false }: Props) {
  const label = tip === undefined ? {} : { "data-tip": tip, "aria-label": tip };
  const pressed = on === undefined ? {} : { "aria-pressed": on };
  return (
    <button
      type="button"
      class={`control ${plain ? "plain" : ""} ${on ? "on" : ""}`}
      disabled={disabled}
      onClick={onClick}
      {...label}
      {...pressed}
    >
      {children}
    </button>
  );
}
