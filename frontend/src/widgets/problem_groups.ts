import type { ProblemJson } from "../api/types.gen";

/** The same said of several places of a file: said once, with the places below. */
export interface ProblemGroup {
  /** What all of them share: file, expected, lost, what to do, severity. */
  shared: ProblemJson;
  /** Those that differ in place or in what was found there. */
  items: ProblemJson[];
  /** How many times in all. */
  count: number;
}

/** Problems by what they say of a file, in the order of their first. */
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
