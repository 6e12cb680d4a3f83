import { useState } from "preact/hooks";
import type { ProblemJson } from "../api/types.gen";
import { placesOf, t, textOf } from "../i18n";
import { TextButton } from "./button";
import { PagedItems, Pages } from "./pages";

/** A list of problems: file and place, expected and found, what is lost, what to do. */
export function ProblemList({ problems }: { problems: readonly ProblemJson[] }) {
  if (problems.length === 0) return null;
  return (
    <PagedItems items={problemGroups(problems)} list="">
      {(group, place) => <Problem key={place} group={group} />}
    </PagedItems>
  );
}

function Problem({ group: { shared, items, count } }: { group: ProblemGroup }) {
  const isOne = items.length === 1;
  const { severity, file, where, lost, action } = shared;
  return (
    <li class={`problem ${severity === "error" ? "error" : ""}`}>
      <div>
        <strong>{file}</strong> {isOne && where && <span class="muted">{placesOf(shared)}</span>}
        {count > 1 && <span class="muted"> · {t("problem.times", { count })}</span>}
      </div>
      <div class="small">{isOne ? expectation(shared) : expectation({ ...shared, found: "" })}</div>
      {!isOne && <Places items={items} />}
      {lost && <div class="small">{t("problem.lost", { text: textOf(shared, "lost") })}</div>}
      {action && <div class="small muted">{t("problem.action", { text: textOf(shared, "action") })}</div>}
    </li>
  );
}

/** Number of places shown at first. */
const FIRST = 5;

/** The places of a problem and what was found there; the rest on demand. */
function Places({ items }: { items: readonly ProblemJson[] }) {
  const [isAll, setAll] = useState(false);
  const some = isAll ? items : items.slice(0, FIRST);
  return (
    <Pages items={some}>
      {(shown, first) => (
        <ul class="small problem-places">
          {shown.map((item, index) => (
            <li key={first + index}>
              {[placesOf(item), item.found && t("problem.found", { text: textOf(item, "found") })]
                .filter(Boolean)
                .join(": ")}
              {item.count > 1 && <span class="muted"> · {t("problem.times", { count: item.count })}</span>}
            </li>
          ))}
          {some.length < items.length && (
            <li>
              <TextButton onClick={() => setAll(true)}>
                {t("problem.more", { count: items.length - some.length })}
              </TextButton>
            </li>
          )}
        </ul>
      )}
    </Pages>
  );
}

function expectation(problem: ProblemJson): string {
  const expected = problem.expected && t("problem.expected", { text: textOf(problem, "expected") });
  const found = problem.found && t("problem.found", { text: textOf(problem, "found") });
  return expected && found ? t("problem.both", { expected, found }) : expected || found;
}

/** Problems that differ only in their place in a file, shown as one with the places below. */
interface ProblemGroup {
  /** Common fields: file, expected, lost, action, severity. */
  shared: ProblemJson;
  /** The problems, which differ in place or in the value found there. */
  items: ProblemJson[];
  /** Total count. */
  count: number;
}

/** Groups problems by their common fields, in the order of the first of each. */
function problemGroups(problems: readonly ProblemJson[]): ProblemGroup[] {
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
