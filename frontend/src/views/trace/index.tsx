import type { TraceJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { visits } from "../../state/params";
import { useView } from "../../state/use_view";
import { Empty, Reading, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import panelCss from "./panel.css?inline";
import { StripsOnly } from "./strips_only";
import css from "./trace.css?inline";
import { TraceTimeline } from "./trace_timeline";

addStyle(css);
addStyle(panelCss);

function TraceView({ selection }: ViewProps) {
  const view = useView<TraceJson>("trace", { span: selection.span });
  if (view.answer?.state === "missing" && !view.error) {
    return <StripsOnly view={view} answer={view.answer} selection={selection} />;
  }
  return (
    <ViewFrame view={view} problems="plain">
      {(data, answer) => {
        if (data.processes.length > 0) {
          return (
            <TraceTimeline
              key={`${selection.span} ${visits.value}`}
              span={selection.span}
              data={data}
              answer={answer}
              onStale={view.retry}
            />
          );
        }
        if (answer.state === "reading") return <Reading answer={answer} />;
        return (
          <section class="card">
            <Empty text={t("trace.empty")} />
          </section>
        );
      }}
    </ViewFrame>
  );
}

export const view: ViewModule = { Component: TraceView };
