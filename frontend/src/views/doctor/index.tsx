import type { DoctorJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { catalog } from "../../state/catalog";
import {
  ALL_FINDINGS,
  type Answered,
  Card,
  DiagnosisCard,
  Empty,
  MissingList,
  PagedItems,
  ProblemList,
  spanView,
} from "../../widgets";
import { SkippedItems, Summaries } from "../../widgets/skipped";
import { CaptureCard } from "../overview/capture_card";
import css from "./doctor.css?inline";
import { Files } from "./files";

/** The state of a result: its capture settings, its files, missing data, and folders that were not opened. */
export const view = spanView("doctor", Doctor, { css, problems: "plain" });

function Doctor({ data, answer, selection }: Answered<DoctorJson>) {
  const skipped = catalog.value?.skipped ?? [];
  const summaries = catalog.value?.summaries ?? [];
  const isFine = answer.problems.length === 0;
  return (
    <div class="grid">
      <DiagnosisCard run={selection.run} most={ALL_FINDINGS} />
      <div class="span-12 stack">
        <Files data={data} />
        {data.others.length > 0 && (
          <Card title={t("doctor.others")}>
            <ProblemList problems={data.others} />
          </Card>
        )}
        {data.kernels && <Coverage kernels={data.kernels} />}
        {isFine && <p class="muted">{t("doctor.fine")}</p>}
        {catalog.value?.scanner === "python" && <p class="muted">{t("doctor.scanner.python")}</p>}
      </div>
      <div class="span-6 stack">
        <CaptureCard capture={data.capture} hasFiles={false} />
      </div>
      <div class="span-6 stack">
        <Card title={t("doctor.missing")} subtitle={t("doctor.missing.sub")}>
          <MissingList missing={answer.missing} none={t("doctor.missing.none")} />
        </Card>
        <Card title={t("doctor.skipped")}>
          {skipped.length > 0 ? <SkippedItems skipped={skipped} /> : <Empty text={t("doctor.skipped.none")} />}
          <PagedItems items={catalog.value?.others ?? []}>
            {({ path, count, names }) => (
              <p key={path} class="small muted">
                {t("doctor.other_files", { path, count: format.integer(count), names: names.join(", ") })}
              </p>
            )}
          </PagedItems>
        </Card>
        {summaries.length > 0 && (
          <Card title={t("summaries.title")}>
            <Summaries summaries={summaries} />
          </Card>
        )}
      </div>
    </div>
  );
}

/** How much of the device time is known by name. */
function Coverage({ kernels }: { kernels: NonNullable<DoctorJson["kernels"]> }) {
  const names = kernels.unknown
    .map(({ name, total_ns: ns }) => `${name || "–"} (${format.duration(ns, 2)})`)
    .join(", ");
  return (
    <p class="muted" data-tip={t("doctor.kernels.tip")}>
      {t(names ? "doctor.kernels.others" : "doctor.kernels", {
        share: format.percentOfRatio(kernels.known_share),
        names,
      })}
    </p>
  );
}
