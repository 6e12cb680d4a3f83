import { type SpanJson, VIEW_IDS, type ViewId, type ViewStateJson } from "../api/types.gen";
import * as format from "../base/format";
import { t, textOf, viewTitle } from "../i18n";
import { catalog } from "../state/catalog";
import { chooseRun, chooseSpan, chooseWorker, place, selection } from "../state/selection";
import { SkippedList, SummaryHint } from "../widgets/skipped";
import { withVendorWords } from "../widgets/vendor";
import { linkTo } from "../widgets/view_link";
import { CompareWith, DiffSides, RunSelect, SpanSelect, WorkerSelect } from "./diff_sides";
import { RunFolders } from "./grouping";

/** Run, views, worker, span, comparison, and skipped folders. */
export function SideBar() {
  const found = catalog.value;
  const chosen = selection.value;
  const here = place.value;
  if (!found) return <nav class="side" aria-label={t("side.navigation")} />;
  const run = found.runs.find((item) => item.id === chosen.run);
  const worker = run?.workers.find((item) => item.id === chosen.worker);
  const isDiff = chosen.view === "diff";
  return (
    <nav class="side" aria-label={t("side.navigation")}>
      {!isDiff && <RunSelect runs={found.runs} value={chosen.run} onChange={chooseRun} />}
      {!isDiff && run && <RunFolders run={run} catalog={found} />}
      <h2>{t("side.views")}</h2>
      <Views current={chosen.view} span={here?.span} />
      {isDiff ? (
        <DiffSides />
      ) : (
        <>
          <WorkerSelect workers={run?.workers ?? []} value={chosen.worker} onChange={chooseWorker} />
          <SpanSelect spans={worker?.spans ?? []} value={chosen.span} onChange={chooseSpan} />
          <CompareWith />
        </>
      )}
      <SkippedList skipped={found.skipped} />
      <SummaryHint summaries={found.summaries} />
    </nav>
  );
}

function Views({ current, span }: { current: ViewId; span: SpanJson | undefined }) {
  return (
    <ul class="views">
      {VIEW_IDS.map((id) => (
        <ViewLink key={id} id={id} isCurrent={id === current} state={span?.views.find((item) => item.id === id)} />
      ))}
    </ul>
  );
}

function ViewLink({ id, isCurrent, state }: { id: ViewId; isCurrent: boolean; state: ViewStateJson | undefined }) {
  const isMissing = state?.available === false;
  const reason = isMissing ? textOf(state, "reason") : "";
  const lacking = isMissing
    ? [reason, state.option && `${t("state.option")} ${textOf(state, "option")}`].filter(Boolean).join("\n")
    : "";
  return (
    <li>
      <a
        {...linkTo(id)}
        class={isMissing ? "none" : ""}
        aria-current={isCurrent ? "page" : undefined}
        data-tip={withVendorWords(lacking, "view", id)}
        data-view={id}
      >
        <span>{viewTitle(id)}</span>
        <span class="count">{isMissing ? "–" : state?.count == null ? "" : format.integer(state.count)}</span>
      </a>
      {isMissing && (
        <p class="reason ellipsis" data-tip={lacking}>
          {reason}
        </p>
      )}
    </li>
  );
}
