import type { RunJson, SpanJson, WorkerJson } from "../api/types.gen";
import * as format from "../base/format";
import { t } from "../i18n";
import { catalog, places, workerName } from "../state/catalog";
import { compareCaptures, LETTERS, nextCapture, openView, selection, swapSides } from "../state/selection";
import { type Option, Select } from "../widgets/select";

/** Run, worker and span of each capture of Diff. */
export function DiffSides() {
  const { captures } = selection.value;
  const sides = captures.length > 1 ? captures : [captures[0] ?? "", ""];
  const next = nextCapture(places.value, captures);
  return (
    <>
      {sides.map((span, at) => (
        <SideChoice key={LETTERS[at]} at={at} span={span} sides={sides} />
      ))}
      <button
        type="button"
        class="control side-button"
        disabled={captures.length < 2 || captures.length === LETTERS.length || next === ""}
        onClick={() => compareCaptures([...captures, next])}
      >
        + {t("side.add")}
      </button>
      <button type="button" class="control side-button" disabled={captures.length < 2} onClick={swapSides}>
        ⇄ {t("side.swap")}
      </button>
    </>
  );
}

interface SideProps {
  at: number;
  /** "" if none is chosen. */
  span: string;
  sides: readonly string[];
}

function SideChoice({ at, span, sides }: SideProps) {
  const here = places.value.get(span);
  const runs = catalog.value?.runs ?? [];
  const letter = LETTERS[at] ?? "";
  // All are written: the default of one depends on the others.
  const choose = (chosen: string | undefined) =>
    chosen && compareCaptures(sides.map((one, place) => (place === at ? chosen : one)).filter(Boolean));
  const role = at === 0 ? "baseline" : at === sides.length - 1 ? "experimental" : letter;
  return (
    <div data-side={role}>
      <h2 class="side-letter">
        {letter}
        {at === 0 && ` · ${t("side.baseline")}`}
        {sides.length > 2 && (
          <button
            type="button"
            class="control plain"
            aria-label={t("side.remove", { letter })}
            data-tip={t("side.remove", { letter })}
            onClick={() => compareCaptures(sides.filter((_, place) => place !== at))}
          >
            ✕
          </button>
        )}
      </h2>
      <RunSelect
        runs={runs}
        value={here?.run.id ?? ""}
        placeholder={t("side.compare.choose")}
        onChange={(id) => choose(runs.find((run) => run.id === id)?.workers[0]?.spans[0]?.id)}
      />
      <WorkerSelect
        workers={here?.run.workers ?? []}
        value={here?.worker.id ?? ""}
        onChange={(id) => choose(here?.run.workers.find((worker) => worker.id === id)?.spans[0]?.id)}
      />
      {(here?.worker.spans.length ?? 0) > 1 && (
        <SpanSelect spans={here?.worker.spans ?? []} value={here?.span.id ?? ""} onChange={choose} />
      )}
    </div>
  );
}

/** Chooses the capture that Diff compares this span with; the choice becomes the baseline and opens Diff. */
export function CompareWith() {
  const { span, baseline, experimental } = selection.value;
  const others = [...places.value.values()].filter((place) => place.span.id !== span);
  if (others.length === 0) return null;
  const options = others.map((place) => ({
    id: place.span.id,
    label: [place.run.label, workerName(place.worker), place.span.label].join(" ▸ "),
  }));
  return (
    <>
      <h2>{t("side.compare")}</h2>
      <Select
        label={t("side.compare")}
        options={options}
        value={span === baseline ? experimental : baseline}
        placeholder={t("side.compare.choose")}
        onChange={(baseline) =>
          openView("diff", { baseline, experimental: span, captures: null, "x.step": null, "x.pair": null })
        }
      />
    </>
  );
}

interface ChoiceProps {
  value: string;
  placeholder?: string;
  onChange: (id: string) => void;
}

/** Select boxes of the sidebar for run, worker and span. */
export function RunSelect({ runs, ...choice }: ChoiceProps & { runs: readonly RunJson[] }) {
  const options = runs.map((run) => ({ id: run.id, label: run.label, note: String(run.workers.length) }));
  return <Labelled label={t("side.run")} options={options} {...choice} />;
}

export function WorkerSelect({ workers, ...choice }: ChoiceProps & { workers: readonly WorkerJson[] }) {
  return <Labelled label={t("side.worker")} options={workers.map(workerOption)} {...choice} />;
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
