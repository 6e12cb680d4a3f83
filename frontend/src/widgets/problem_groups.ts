import type { ProblemJson } from "../api/types.gen";

/** Problems that differ only in their place in a file, shown as one with the places below. */
export interface ProblemGroup {
  /** Common fields: file, expected, lost, action, severity. */
  shared: ProblemJson;
  /** The problems, which differ in place or in the value found there. */
  items: ProblemJson[];
  /** Total count. */
  count: number;
}

/** Groups problems by their common fields, in the order of the first of each. */
export function problemGroups(problems: readonly ProblemJson[]): ProblemGroup[] {
  const groups = new Map<string, ProblemGroup>();
  for (const problem of problems) {
    const { code, file, expected, lost, action, severity } = problem;
    const key = JSON.stringify([code, file, expected, lost, action, severity]);
    const group = groups.get(key);
    const count = Math.max(1, problem.count);
    if (group) {
      group.items.push(problem);
      group.count += count;
    } else {
      groups.set(key, { shared: problem, items: [problem], count });
    }
  }
  return [...groups.values()];
}
