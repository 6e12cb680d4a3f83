import {
  type RunJson,
  type SpanJson,
  VIEW_IDS,
  type ViewId,
  type ViewStateJson,
  type WorkerJson,
} from "../api/types.gen";
import * as format from "../base/format";
import { sayOption, t, textOf, viewTitle } from "../i18n";
import { catalog, workerName } from "../state/catalog";
import { chooseRun, chooseSpan, chooseWorker, openView, place, selection } from "../state/selection";
import { type Option, Select } from "../widgets/select";
import { CompareWith, DiffSides } from "./diff_sides";
import { SkippedList } from "./skipped";

/** Run, views, worker, span, what to compare with, and what was not opened. */
export function SideBar() {
  const found = catalog.value;
  const chosen = selection.value;
  const here = place.value;
  if (!found) return <nav class="side" aria-label={t("side.navigation")} />;
  const run = found.runs.find((item) => item.id === chosen.run);
  const worker = run?.workers.find((item) => item.id === chosen.worker);
  const isDiff = chosen.view === "diff";
  return (
    <nav class="side" aria-label={t("side.navigation")}>
      {!isDiff && <RunSelect runs={found.runs} value={chosen.run} onChange={chooseRun} />}
      <h2>{t("side.views")}</h2>
      <Views current={chosen.view} span={here?.span} />
      {isDiff ? (
        <DiffSides />
      ) : (
        <>
          <WorkerSelect workers={run?.workers ?? []} value={chosen.worker} onChange={chooseWorker} />
          <SpanSelect spans={worker?.spans ?? []} value={chosen.span} onChange={chooseSpan} />
          <CompareWith />
        </>
      )}
      <SkippedList skipped={found.skipped} />
    </nav>
  );
}

interface ChoiceProps {
  value: string;
  placeholder?: string;
  onChange: (id: string) => void;
}

export function RunSelect({ runs, ...choice }: ChoiceProps & { runs: readonly RunJson[] }) {
  const options = runs.map((run) => ({ id: run.id, label: run.label, note: String(run.workers.length) }));
  return <Labelled label={t("side.run")} options={options} {...choice} />;
}

export function WorkerSelect({ workers, ...choice }: ChoiceProps & { workers: readonly WorkerJson[] }) {
  const sorted = [...workers].sort(
    (a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || a.label.localeCompare(b.label),
  );
  return <Labelled label={t("side.worker")} options={sorted.map(workerOption)} {...choice} />;
}

function workerOption(worker: WorkerJson): Option {
  const isFailed = worker.spans.some((span) => span.state === "failed");
  const problems = worker.spans.reduce((sum, span) => sum + span.problems, 0);
  const note = isFailed ? "✕" : problems > 0 ? `⚠ ${problems}` : undefined;
  return {
    id: worker.id,
    label: workerName(worker),
    ...(note === undefined ? {} : { note, tip: t("side.problemCount", { count: problems }) }),
  };
}

export function SpanSelect({ spans, ...choice }: ChoiceProps & { spans: readonly SpanJson[] }) {
  const options = spans.map((span) => ({
    id: span.id,
    label: span.label,
    note: span.state === "failed" ? "✕" : format.bytes(span.bytes, 1),
  }));
  return <Labelled label={t("side.span")} options={options} {...choice} />;
}

function Labelled({ label, ...choice }: ChoiceProps & { label: string; options: readonly Option[] }) {
  return (
    <>
      <h2>{label}</h2>
      <Select label={label} {...choice} />
    </>
  );
}

function Views({ current, span }: { current: ViewId; span: SpanJson | undefined }) {
  return (
    <ul class="views">
      {VIEW_IDS.map((id) => (
        <ViewLink key={id} id={id} isCurrent={id === current} state={span?.views.find((item) => item.id === id)} />
      ))}
    </ul>
  );
}

function ViewLink({ id, isCurrent, state }: { id: ViewId; isCurrent: boolean; state: ViewStateJson | undefined }) {
  const isMissing = state?.available === false;
  const reason = isMissing ? textOf(state, "reason") : "";
  const tip = isMissing
    ? [reason, state.option && `${t("state.option")} ${sayOption(state.option)}`].filter(Boolean).join("\n")
    : undefined;
  return (
    <li>
      <a
        href={`#${id}`}
        class={isMissing ? "none" : ""}
        aria-current={isCurrent ? "page" : undefined}
        data-tip={tip}
        data-view={id}
        onClick={(event) => {
          event.preventDefault();
          openView(id);
        }}
      >
        <span>{viewTitle(id)}</span>
        <span class="count">{isMissing ? "–" : state?.count == null ? "" : format.integer(state.count)}</span>
      </a>
      {isMissing && (
        <p class="reason ellipsis" data-tip={tip}>
          {reason}
        </p>
      )}
    </li>
  );
}
