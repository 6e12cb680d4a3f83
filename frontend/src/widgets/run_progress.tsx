import type { ProgressJson } from "../api/types.gen";
import { t } from "../i18n";
import { totalsOf } from "../state/reading";
import { Popover } from "./popover";
import { countText, Figures, JobControl, JobList, ProgressBar } from "./progress";

/** Reading progress of a run's ranks in one line; its button lists them. Empty once all are read. */
export function RunProgress({ jobs }: { jobs: readonly ProgressJson[] }) {
  const totals = totalsOf(jobs);
  const { waiting, reading, cancelled, failed } = totals.count;
  if (waiting + reading + cancelled + failed === 0) return null;
  const isGoing = waiting + reading > 0;
  return (
    <span class="run-progress">
      <Popover
        class="chip"
        label={
          <>
            {countText(totals)}
            <span aria-hidden="true">▾</span>
          </>
        }
      >
        {() => (
          <div class="reading-list">
            <JobList jobs={jobs} />
          </div>
        )}
      </Popover>
      {isGoing && (
        <>
          <ProgressBar label={t("progress.ranks")} done={totals.done} total={totals.total} />
          <Figures {...totals} />
        </>
      )}
      <JobControl jobs={jobs} />
    </span>
  );
}
