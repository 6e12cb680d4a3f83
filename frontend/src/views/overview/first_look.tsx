import type { ViewJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { freshJobs } from "../../state/progress";
import { isActive } from "../../state/reading";
import { JobList } from "../../widgets";

/** Progress above preliminary figures. */
export function FirstLook({ answer }: { answer: ViewJson }) {
  const jobs = freshJobs(answer.progress);
  return (
    <section class="card first-look" aria-label={t("overview.first")}>
      <p>
        <strong>{t("overview.first")}</strong>{" "}
        {t(jobs.some(isActive) ? "overview.first.reading" : "overview.first.stopped")}
      </p>
      <JobList jobs={jobs} />
    </section>
  );
}
