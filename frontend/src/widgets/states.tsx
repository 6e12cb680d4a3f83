import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import type { MissingJson, ProblemJson } from "../api/types.gen";
import { say, sayOption, sayPlaces, t } from "../i18n";
import { Button } from "./button";

/** A quiet line or two where there is nothing to show. */
export function Empty({ text, children }: { text?: string; children?: ComponentChildren }) {
  return (
    <div class="muted" style={{ padding: "12px 0" }}>
      {text ?? t("state.empty")}
      {children}
    </div>
  );
}

/** What a capture lacks, what that costs and which option records it. */
export function MissingList({ missing }: { missing: readonly MissingJson[] }) {
  return (
    <ul class="missing-list">
      {missing.map((item) => (
        <li key={item.table}>
          <strong>{say(item.title) || item.file || item.table}</strong> <span>{say(item.text)}</span>
          {item.option && (
            <span class="muted">
              {" "}
              {t("state.option")} <code>{sayOption(item.option)}</code>
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Problems one below the other: file and place, what was expected and found, what is lost, what to do. */
export function ProblemList({ problems }: { problems: readonly ProblemJson[] }) {
  return (
    <ul>
      {once(problems).map((problem, index) => (
        <li key={index} class={`problem ${problem.severity === "error" ? "error" : ""}`}>
          <div>
            <strong>{problem.file}</strong> {problem.where && <span class="muted">{sayPlaces(problem.where)}</span>}
            {problem.count > 1 && <span class="muted"> · {t("problem.times", { count: problem.count })}</span>}
          </div>
          {(problem.expected || problem.found) && <div class="small">{expectation(problem)}</div>}
          {problem.lost && <div class="small">{t("problem.lost", { text: say(problem.lost) })}</div>}
          {problem.action && <div class="small muted">{t("problem.action", { text: say(problem.action) })}</div>}
        </li>
      ))}
    </ul>
  );
}

/** Two stages of reading may meet the same problem of a file. */
function once(problems: readonly ProblemJson[]): ProblemJson[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

function expectation(problem: ProblemJson): string {
  const expected = problem.expected && t("problem.expected", { text: say(problem.expected) });
  const found = problem.found && t("problem.found", { text: say(problem.found) });
  return expected && found ? t("problem.both", { expected, found }) : expected || found;
}

/** A line above a view whose data are not complete; opens the list. */
export function ProblemBanner({ problems }: { problems: readonly ProblemJson[] }) {
  const [isOpen, setOpen] = useState(false);
  if (problems.length === 0) return null;
  const count = problems.reduce((sum, problem) => sum + Math.max(1, problem.count), 0);
  const isError = problems.some((problem) => problem.severity === "error");
  return (
    <div class={`banner ${isError ? "error" : ""}`}>
      <div class="grow">
        {count === 1 ? t("state.problem") : t("state.problems", { count })}
        {isOpen && <ProblemList problems={problems} />}
      </div>
      <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t(isOpen ? "state.hide" : "state.show")}
      </button>
    </div>
  );
}

/** A request that failed, with what the server said and a way to try again. */
export function ErrorPanel({ error, onRetry, title }: { error: ApiError; onRetry?: () => void; title?: string }) {
  return (
    <section class="card panel" role="alert">
      <h2>{title ?? t("state.error")}</h2>
      <p>{say(error.message)}</p>
      {error.hint && <p class="muted">{say(error.hint)}</p>}
      {onRetry && (
        <p>
          <Button onClick={onRetry}>{t("state.retry")}</Button>
        </p>
      )}
    </section>
  );
}
