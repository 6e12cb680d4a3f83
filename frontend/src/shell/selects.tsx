/** Select boxes of the sidebar for run, worker and span. */

import type { RunJson, SpanJson, WorkerJson } from "../api/types.gen";
import * as format from "../base/format";
import { t } from "../i18n";
import { workerName } from "../state/catalog";
import { type Option, Select } from "../widgets/select";

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
