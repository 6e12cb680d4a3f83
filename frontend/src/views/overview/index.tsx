import type { OverviewJson, ViewJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { workerName } from "../../state/catalog";
import { STEP } from "../../state/period";
import { freshJobs } from "../../state/progress";
import { isActive } from "../../state/reading";
import { place } from "../../state/selection";
import { usePeriodView } from "../../state/use_view";
import { Card, Empty, ExcessCard, JobList, LedgerCard, MissingList, ViewFrame } from "../../widgets";
import { useDiagnosis } from "../../widgets/diagnosis/ledger";
import type { ViewModule, ViewProps } from "../view";
import { CaptureCard } from "./capture_card";
import css from "./overview.css?inline";
import { RankLedgers } from "./rank_ledgers";
import { RolesCard } from "./roles_card";
import { StepCard } from "./step_card";
import { StepTable, TopKernels, TopOperators } from "./tops";

addStyle(css);

/** Overview: ledger of the step, capture settings, top kernels and operators, missing data. */
function OverviewView({ selection }: ViewProps) {
  const view = usePeriodView<OverviewJson>("overview", { span: selection.span }, [STEP]);
  const diagnosis = useDiagnosis(selection.run);
  const ledgers = diagnosis.data?.ledgers ?? [];
  return (
    <ViewFrame view={view}>
      {(data, answer) => {
        const { tables, missing } = answer;
        const rank = rankName();
        const isBeside = rank !== "" && data.steps.length > 0;
        const isFirst = answer.state === "reading";
        // Reserve the space, so that nothing moves when they arrive.
        const hasTops = isFirst || Boolean(tables.kernels || tables.operators);
        // Points of steps are in the ledger only.
        const excess = diagnosis.data?.excess?.kind ? diagnosis.data.excess : null;
        const ofRanks = ledgers.length > 1 ? diagnosis.data : null;
        const isWide = hasTops || (ofRanks && excess === null);
        const steps = data.course === null && <StepCard data={data} rank={rank} hasLedger={ledgers.length > 0} />;
        const facts = (
          <>
            <CaptureCard capture={data.capture} />
            {missing.length > 0 && !isFirst && (
              <Card title={t("overview.missing")} subtitle={t("overview.missing.sub")}>
                <MissingList missing={missing} />
              </Card>
            )}
          </>
        );
        return (
          <div class="grid">
            {isFirst && <Preliminary answer={answer} />}
            <LedgerCard view={diagnosis} />
            <RolesCard />
            {!isBeside && steps}
            {ofRanks && excess && (
              <>
                <RankLedgers class="span-6" data={ofRanks} />
                <ExcessCard class="span-6" excess={excess} />
              </>
            )}
            <div class={`${isWide ? "span-8" : "span-6"} stack`}>
              {ofRanks && !excess && <RankLedgers data={ofRanks} />}
              {isFirst && (
                <Card title={t("overview.kernels")}>
                  <Empty text={t("overview.first.kernels")} />
                </Card>
              )}
              {tables.kernels && <TopKernels table={tables.kernels} rank={rank} />}
              {tables.operators && <TopOperators table={tables.operators} rank={rank} />}
              {!isWide && facts}
            </div>
            <div class={`${isWide ? "span-4" : "span-6"} stack`}>
              {isBeside && steps}
              {isWide && facts}
            </div>
            {data.steps.length > 0 && <StepTable data={data} />}
          </div>
        );
      }}
    </ViewFrame>
  );
}

/** The rank on screen, if the run has several: the diagnosis above may be about another one. */
function rankName(): string {
  const { run, worker } = place.value ?? {};
  return run && worker && run.workers.length > 1 ? workerName(worker) : "";
}

/** Progress above preliminary figures. */
function Preliminary({ answer }: { answer: ViewJson }) {
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

export const view: ViewModule = { Component: OverviewView };
