import type { ComponentChildren } from "preact";

interface Props {
  onClick: () => void;
  children: ComponentChildren;
  /** Classes: a control 28 px high, "control plain" without frame, "link", "option" of a menu, or what a view defines. */
  look?: string;
  /** Tooltip. */
  tip?: string | undefined;
  /** Name for screen readers. */
  label?: string | undefined;
  /** Tooltip and name for screen readers, if the content is a sign. */
  name?: string | undefined;
  disabled?: boolean;
  /** State of a toggle. */
  pressed?: boolean;
  /** Whether what the button opens is open. */
  expanded?: boolean | undefined;
}

export function Button({ onClick, children, look = "control", tip, label, name, disabled, pressed, expanded }: Props) {
  return (
    <button
      type="button"
      class={look}
      data-tip={name ?? tip}
      aria-label={name ?? label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

/** A button that looks like a link. */
export function TextButton(props: Omit<Props, "look">) {
  return <Button look="link" {...props} />;
}
