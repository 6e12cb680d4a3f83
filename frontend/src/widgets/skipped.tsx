import type { ComponentChildren } from "preact";
import type { SkippedJson, SpanJson, SummariesJson } from "../api/types.gen";
import { t, textOf } from "../i18n";
import { PagedItems } from "./pages";
import { Popover } from "./popover";
import { ShellCommand } from "./shell_command";

/** What a line of the side bar opens. */
function Behind({ children, ...popover }: { label: ComponentChildren; tip?: string; children: ComponentChildren }) {
  return (
    <div style={{ marginTop: "18px" }}>
      <Popover {...popover}>{() => <div style={{ padding: "6px 8px" }}>{children}</div>}</Popover>
    </div>
  );
}

/** Skipped folders with the reason. */
export function SkippedList({ skipped }: { skipped: readonly SkippedJson[] }) {
  if (skipped.length === 0) return null;
  const face = (
    <>
      <span>{t("side.skipped")}</span>
      <span class="arrow muted">{skipped.length}</span>
    </>
  );
  return (
    <Behind label={face} tip={t("side.skipped.tip")}>
      <SkippedItems skipped={skipped} />
    </Behind>
  );
}

export function SkippedItems({ skipped }: { skipped: readonly SkippedJson[] }) {
  return (
    <PagedItems items={skipped} list="">
      {(item) => (
        <li key={item.path} class="problem" style={{ marginBottom: "8px" }}>
          <strong>{item.path}</strong>
          <div class="small">{textOf(item, "reason")}</div>
          {item.action && <div class="small muted">{textOf(item, "action")}</div>}
          {item.command && <ShellCommand command={item.command} />}
        </li>
      )}
    </PagedItems>
  );
}

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
    <Behind label={t("summaries.title")}>
      <Summaries summaries={summaries} />
    </Behind>
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
