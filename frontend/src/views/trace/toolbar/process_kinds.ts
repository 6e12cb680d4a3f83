/** Kinds of processes, which the menu of rows hides and shows together. */

import type { ProcessJson } from "../../../api/types.gen";

export const PROCESS_KINDS = ["host", "device", "communication", "counters"] as const;
export type ProcessKind = (typeof PROCESS_KINDS)[number];

/** Names of the communication processes of all versions. */
const COMMUNICATION = new Set(["Communication", "HCCL"]);

export function kindOf({ name, label, threads }: ProcessJson): ProcessKind {
  if (threads.length > 0 && threads.every((thread) => thread.kind === "counter")) return "counters";
  if (COMMUNICATION.has(name)) return "communication";
  return label.startsWith("CPU") ? "host" : "device";
}
