interface Props {
  /** 0..1 of the largest value. */
  ratio: number;
  color?: string;
}

/** A bar in a table cell. */
export function HBar({ ratio, color = "var(--c-compute)" }: Props) {
  if (!(ratio > 0)) return null;
  const width = Math.max(0, Math.min(1, ratio)) * 100;
  return <span class="hbar" aria-hidden="true" style={{ width: `${width}%`, background: color }} />;
}
