/** Colours by meaning, as CSS variables of styles/tokens.css, which follow the colour mode. */

/** Colours of names: a neutral ramp by size, then that of all others. */
export const NAMES: readonly string[] = [1, 2, 3, 4, 5, 6, 7].map((step) => `var(--n${step})`);
export const OTHERS = "var(--c-rest)";

const FREE = "var(--c-free)";
export const COMMUNICATION = "var(--c-comm)";

const CORES: Readonly<Record<string, string>> = {
  AI_CORE: "var(--c-compute)",
  AI_VECTOR_CORE: "var(--c-vec)",
  MIX_AIC: "var(--c-mix)",
  MIX_AIV: "var(--c-over)",
  AI_CPU: "var(--c-wait)",
  AICPU: "var(--c-wait)",
  DSA: "var(--c-prep)",
  DSA_SQE: "var(--c-prep)",
  KERNEL: "var(--c-compute)",
  MEMCPY: "var(--c-prep)",
  MEMSET: "var(--c-mix)",
  HCCL: COMMUNICATION,
  COMMUNICATION,
};

/** Colour of an accelerator core; the same everywhere. */
export function coreColor(core: string | null): string {
  return (core !== null && CORES[core]) || FREE;
}
