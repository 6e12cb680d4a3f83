import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import type { MissingJson, ProblemJson } from "../api/types.gen";
import { t, textOf } from "../i18n";
import { Button, TextButton } from "./button";
import { ProblemList } from "./problem_list";

/** A short text instead of a chart or table without data. */
export function Empty({ text, children }: { text?: string; children?: ComponentChildren }) {
  return (
    <div class="muted" style={{ padding: "12px 0" }}>
      {text ?? t("state.empty")}
      {children}
    </div>
  );
}

/** Missing data of a capture, the consequence, and the option that records them; `none`: text without any. */
export function MissingList({ missing, none }: { missing: readonly MissingJson[]; none?: string }) {
  if (none !== undefined && missing.length === 0) return <Empty text={none} />;
  return (
    <ul class="missing-list">
      {missing.map((item) => (
        <li key={item.table}>
          <strong>{textOf(item, "title") || item.file || item.table}</strong>{" "}
          {item.title && item.file && <code class="muted">{item.file}</code>} <span>{textOf(item, "text")}</span>
          {item.option && (
            <span class="muted">
              {" "}
              {t("state.option")} <code>{textOf(item, "option")}</code>
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** A line above a view with incomplete data; opens the list of problems. Only Doctor lists those that need no action. */
export function ProblemBanner({ problems: all }: { problems: readonly ProblemJson[] }) {
  const [isOpen, setOpen] = useState(false);
  const problems = all.filter((problem) => problem.severity !== "info");
  if (problems.length === 0) return null;
  const count = problems.reduce((sum, problem) => sum + Math.max(1, problem.count), 0);
  const isError = problems.some((problem) => problem.severity === "error");
  return (
    <div class={`banner ${isError ? "error" : ""}`}>
      <div class="grow">
        {count === 1 ? t("state.problem") : t("state.problems", { count })}
        {isOpen && <ProblemList problems={problems} />}
      </div>
      <TextButton expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t(isOpen ? "state.hide" : "state.show")}
      </TextButton>
    </div>
  );
}

/** A failed request with the server's message and a retry button. */
export function ErrorPanel({ error, onRetry, title }: { error: ApiError; onRetry?: () => void; title?: string }) {
  return (
    <section class="card panel" role="alert">
      <h2>{title ?? t("state.error")}</h2>
      <p>{textOf(error, "message")}</p>
      {error.hint && <p class="muted">{textOf(error, "hint")}</p>}
      {onRetry && (
        <p>
          <Button onClick={onRetry}>{t("state.retry")}</Button>
        </p>
      )}
    </section>
  );
}
