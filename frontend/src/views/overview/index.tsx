import type { OverviewJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { param } from "../../state/params";
import { useView } from "../../state/use_view";
import { Card, MissingList, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { CaptureCard } from "./capture_card";
import css from "./overview.css?inline";
import { RanksCard, useRanks } from "./ranks_card";
import { StepBudget } from "./step_budget";
import { StepTable } from "./step_table";
import { TopKernels, TopOperators } from "./tops";

addStyle(css);

/** Where the step went, how it was recorded, what took most, what is missing. */
function OverviewView({ selection }: ViewProps) {
  const view = useView<OverviewJson>("overview", { span: selection.span });
  const ranks = useRanks(selection.run);
  return (
    <ViewFrame view={view}>
      {(data, { tables, missing }) => {
        const step = data.steps.find((item) => item.step === param("overview.step")) ?? data.steps[0];
        return (
          <div class="grid">
            <StepBudget steps={data.steps} source={data.steps_source} isComputed={data.steps_computed} />
            {data.steps.length > 0 && <StepTable steps={data.steps} />}
            <div class="span-8 stack">
              {tables.kernels && <TopKernels table={tables.kernels} />}
              {tables.operators && <TopOperators table={tables.operators} />}
            </div>
            <div class="span-4 stack">
              <CaptureCard capture={data.capture} profiled={Math.max(1, ranks.length)} />
              {ranks.length > 1 && <RanksCard ranks={ranks} span={selection.span} step={step?.step ?? null} />}
              {missing.length > 0 && (
                <Card title={t("overview.missing")} subtitle={t("overview.missing.sub")} class="panel">
                  <MissingList missing={missing} />
                </Card>
              )}
            </div>
          </div>
        );
      }}
    </ViewFrame>
  );
}

export const view: ViewModule = { id: "overview", titleKey: "view.overview", Component: OverviewView };
