import { vi } from "vitest";

/** Waits until the check holds. vi.waitFor alone gives up after a second, and a busy machine may take longer. */
export function waitFor(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 50_000 });
}
