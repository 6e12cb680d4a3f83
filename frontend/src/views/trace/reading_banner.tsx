/** Banner above a partial trace: how much is shown, and when the rest is ready. */

import type { ProgressJson } from "../../api/types.gen";
import { bytes } from "../../base/format";
import { t } from "../../i18n";
import { freshJobs } from "../../state/progress";
import { ControlError, JobControl, Pace, ProgressBar } from "../../widgets";

interface Props {
  /** Bytes of the trace that the timeline shows. */
  shown: number;
  progress: readonly ProgressJson[];
}

export function ReadingBanner({ shown, progress }: Props) {
  const job = freshJobs(progress).find((one) => one.stage === "trace");
  if (!job) return null;
  const isStopped = job.state === "cancelled" || job.state === "failed";
  const values = { shown: bytes(shown, 0), total: bytes(job.bytes_total, 1) };
  return (
    <section class="trace-reading" aria-label={t("state.reading.trace")} data-job={job.state}>
      <div class="job-head">
        <span class="ellipsis grow" data-tip-cut>
          {t(isStopped ? "trace.reading.cancelled" : "trace.reading", values)}
        </span>
        {job.state === "reading" && (
          <span class="job-figures short mono muted">
            <Pace rate={job.rate} left={job.eta_s} />
          </span>
        )}
        <JobControl jobs={[job]} />
      </div>
      <ProgressBar label={job.file} done={job.bytes_done} total={job.bytes_total} stopped={isStopped} />
      <ControlError />
    </section>
  );
}
