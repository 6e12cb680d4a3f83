/** Order of the processes: what the device did first, then what the host did, then counters and the rest. */

import type { ProcessJson } from "../api/types.gen";

/** Beginnings of names as the vendor writes them. */
const ORDER = ["Overlap Analysis", "Ascend Hardware", "Communication", "HCCL", "Python", "MindSpore", "CANN"];

function place(name: string): number {
  const found = ORDER.findIndex((start) => name.startsWith(start));
  return found >= 0 ? found : ORDER.length;
}

/** The same processes; those that rank alike keep the order of the trace. */
export function inOrder(processes: readonly ProcessJson[]): ProcessJson[] {
  return [...processes].sort((a, b) => place(a.name) - place(b.name));
}
