import type { TraceJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { useView } from "../../state/use_view";
import { Empty, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import css from "./trace.css?inline";
import { TraceTimeline } from "./trace_timeline";

addStyle(css);

function TraceView({ selection }: ViewProps) {
  const view = useView<TraceJson>("trace", { span: selection.span });
  return (
    <ViewFrame view={view} problems="plain">
      {(data, answer) =>
        data.processes.length === 0 ? (
          <section class="card">
            <Empty text={t("trace.empty")} />
          </section>
        ) : (
          <TraceTimeline
            key={`${selection.span} ${answer.fingerprint}`}
            span={selection.span}
            data={data}
            base={answer.base_ns}
            problems={answer.problems}
          />
        )
      }
    </ViewFrame>
  );
}

export const view: ViewModule = { id: "trace", titleKey: "view.trace", Component: TraceView };
