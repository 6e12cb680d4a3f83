import type { ComponentChildren } from "preact";

interface Props<T extends string> {
  /** Label for screen readers. */
  label: string;
  options: readonly { id: T; label: ComponentChildren; tip?: string }[];
  value: T;
  onChange: (id: T) => void;
  /** CSS class of the list. */
  look?: string;
}

/** A segmented control: a few visible alternatives. Left and Right move the choice. */
export function Segments<T extends string>({ label, options, value, onChange, look = "segments" }: Props<T>) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = options.findIndex((option) => option.id === value);
    const next = options[(at + step + options.length) % options.length];
    if (!next) return;
    onChange(next.id);
    const list = event.currentTarget as HTMLElement;
    list.querySelectorAll("button")[options.indexOf(next)]?.focus();
  };
  return (
    <div class={look} role="tablist" aria-label={label} onKeyDown={move}>
      {options.map((option) => (
        <button
          type="button"
          role="tab"
          key={option.id}
          aria-selected={option.id === value}
          tabIndex={option.id === value ? 0 : -1}
          data-tip={option.tip}
          onClick={() => onChange(option.id)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
