import type { SpanJson, SummariesJson } from "../api/types.gen";
import { t } from "../i18n";
import { Popover } from "./popover";
import { ShellCommand } from "./shell_command";

/** Summary events of MindSpore that TensorBoard does not show, with the command that shows them. */
export function Summaries({ summaries }: { summaries: readonly SummariesJson[] }) {
  return (
    <>
      {summaries.map(({ folders, command }) => (
        <div key={command} style={{ marginBottom: "8px" }}>
          <p class="small">{t("summaries.found", { count: folders })}</p>
          <ShellCommand command={command} />
        </div>
      ))}
    </>
  );
}

/** The same behind a line of the side bar. */
export function SummaryHint({ summaries }: { summaries: readonly SummariesJson[] }) {
  if (summaries.length === 0) return null;
  return (
    <div style={{ marginTop: "18px" }}>
      <Popover label={t("summaries.title")}>
        {() => (
          <div style={{ padding: "6px 8px" }}>
            <Summaries summaries={summaries} />
          </div>
        )}
      </Popover>
    </div>
  );
}

/** Marks a capture of a simulated device, whose figures are not measured. */
export function SimulatedMark({ span }: { span: SpanJson | undefined }) {
  if (!span?.simulated) return null;
  return (
    <span class="chip warn" data-tip={t("simulated.tip")}>
      {t("simulated")}
    </span>
  );
}
