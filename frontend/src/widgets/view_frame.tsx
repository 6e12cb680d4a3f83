import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Query } from "../api/client";
import type { ViewId, ViewJson } from "../api/types.gen";
import { addStyle } from "../base/style";
import { type Key, t, textOf } from "../i18n";
import { param } from "../state/params";
import { chosenPeriod, type PeriodKey, WITHIN } from "../state/period";
import { control, freshJobs } from "../state/progress";
import { isActive, isResumable } from "../state/reading";
import { place, type Selection, selection } from "../state/selection";
import { type PeriodView, useAccepted, usePeriodView, type ViewState } from "../state/use_view";
import { Button } from "./button";
import { ProblemList } from "./problem_list";
import { JobList } from "./progress";
import { ErrorPanel, MissingList, ProblemBanner } from "./states";
import { ViewSource } from "./table/props";

/** The answer that a view shows. `answer`: with tables and base_ns. */
export interface Answered<T> {
  data: T;
  answer: ViewJson;
  selection: Selection;
}

interface SpanViewOptions {
  css?: string;
  /** Parameters of the address, by their names in the request; those that the server refuses are removed. */
  params?: Readonly<Record<string, string>>;
  /** More of the request, from elsewhere. */
  query?: () => Query;
  /** See `ViewFrame`. */
  problems?: "plain";
  /** See `PeriodView`. */
  obeys?: readonly PeriodKey[];
  ofRange?: Key;
}

/** A view of the selected span. `Content` shows its answer. */
export function spanView<T>(
  id: ViewId,
  Content: (props: Answered<T>) => ComponentChildren,
  { css = "", params = {}, query, problems, obeys, ofRange }: SpanViewOptions = {},
) {
  if (css) addStyle(css);
  function Component({ selection }: Pick<Answered<T>, "selection">) {
    const asked = Object.entries(params).map(([name, key]) => [name, param(key)]);
    const wanted = { span: selection.span, ...Object.fromEntries(asked), ...query?.() };
    const view = usePeriodView<T>(id, wanted, obeys ?? null);
    useAccepted(view, ...Object.values(params));
    return (
      <ViewFrame view={view} {...(problems ? { problems } : {})} {...(ofRange ? { ofRange: t(ofRange) } : {})}>
        {(data, answer) => <Content data={data} answer={answer} selection={selection} />}
      </ViewFrame>
    );
  }
  return { Component };
}

interface Props<T> {
  /** From `useView` or `usePeriodView`. */
  view: ViewState<T> | PeriodView<T>;
  /** Renders the view with its data and the full answer (tables, base_ns); with partial data, too, if there are any. */
  children: (data: T, answer: ViewJson) => ComponentChildren;
  /** "plain": without the banner of problems (for a view that fills the page). */
  problems?: "banner" | "plain";
  /** What the view shows of a chosen time range. */
  ofRange?: string;
}

/**
 * Renders every state of a view's answer: loading, reading, missing, failed, ready. `data-state` holds the state, for
 * tests and styles.
 */
export function ViewFrame<T>(props: Props<T>) {
  const { answer, error } = props.view;
  const state = error ? "error" : (answer?.state ?? "loading");
  return (
    <>
      {"obeys" in props.view && <PeriodNote view={props.view} ofRange={props.ofRange ?? ""} />}
      <div class="view-frame" data-state={state} aria-busy={state === "loading" || state === "reading"}>
        <Content {...props} />
      </div>
    </>
  );
}

function Content<T>({ view, children, problems = "banner" }: Props<T>) {
  const { answer, error } = view;
  if (error) return <ErrorPanel error={error} onRetry={view.retry} />;
  if (!answer) return <Loading />;
  if (answer.state === "reading" && view.data === null) return <Reading answer={answer} />;
  if (answer.state === "missing") return <Missing answer={answer} />;
  if (answer.state === "failed" || view.data === null) return <Failed answer={answer} onRetry={view.retry} />;
  return (
    <ViewSource.Provider value={{ query: view.query, baseNs: answer.base_ns }}>
      {problems === "banner" && <ProblemBanner problems={answer.problems} />}
      {children(view.data, answer)}
    </ViewSource.Provider>
  );
}

/** Appears after a delay: cached answers arrive sooner, and a flash would disturb. */
function Loading() {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? (
    <section class="card panel" role="status">
      {t("state.loading")}
    </section>
  ) : null;
}

/** Reading progress of a view's data. */
export function Reading({ answer }: { answer: ViewJson }) {
  const jobs = freshJobs(answer.progress);
  const isCancelled = !jobs.some(isActive) && jobs.some((job) => job.state === "cancelled");
  return (
    <section class="card panel">
      <h2>{t(isCancelled ? "state.cancelled" : "state.reading")}</h2>
      <JobList jobs={jobs} />
      <ProblemList problems={answer.problems} />
    </section>
  );
}

function Missing({ answer }: { answer: ViewJson }) {
  const here = place.value?.span.views.find((view) => view.id === selection.value.view);
  const reason = here && textOf(here, "reason");
  return (
    <section class="card panel">
      <h2>{t("state.missing")}</h2>
      {/* First: a file that cannot be read is why it is missing, whatever would have recorded it. */}
      <ProblemList problems={answer.problems} />
      {answer.missing.length > 0 ? (
        <MissingList missing={answer.missing} />
      ) : (
        <p>{reason || t("state.missing.none")}</p>
      )}
    </section>
  );
}

function Failed({ answer, onRetry }: { answer: ViewJson; onRetry: () => void }) {
  const failed = freshJobs(answer.progress).filter(isResumable);
  return (
    <section class="card panel" role="alert">
      <h2>{t("state.failed")}</h2>
      <ProblemList problems={answer.problems} />
      <p>
        <Button onClick={() => void control("resume", failed).then(onRetry)}>{t("state.retry")}</Button>
      </p>
    </section>
  );
}

/** How the view relates to the chosen step or range; nothing without one. */
function PeriodNote({ view: { obeys, refusal }, ofRange }: { view: PeriodView<unknown>; ofRange: string }) {
  const chosen = chosenPeriod();
  if (!chosen || !obeys) return null;
  const isShown = obeys.includes(chosen.key) && !refusal;
  const about = isShown ? (chosen.key === WITHIN ? ofRange : "") : t("period.whole");
  return about === "" ? null : (
    <p class="muted small period-note">
      {about} {refusal && textOf(refusal, "message")}
    </p>
  );
}
