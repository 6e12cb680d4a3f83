import { type CatalogJson, VIEW_IDS, type ViewId } from "../api/types.gen";
import { t, viewTitle } from "../i18n";
import { loadCatalog, workerName } from "../state/catalog";
import { chooseRun, chooseSpan, chooseWorker, type Missing, openView, selection } from "../state/selection";
import { Button } from "../widgets/button";
import { Facts } from "../widgets/facts";
import { ShellCommand, shellWord } from "../widgets/shell_command";
import { SkippedItems, Summaries } from "../widgets/skipped";

/** Names of result folders and files. */
const KINDS = [
  { name: "*_ascend_pt", what: "none.kind.torch_npu" },
  { name: "*_ascend_ms", what: "none.kind.mindspore" },
  { name: "PROF_*", what: "none.kind.msprof" },
  { name: "cluster_analysis_output", what: "none.kind.cluster" },
  { name: "profiler/", what: "none.kind.mindinsight" },
  { name: "*.pt.trace.json[.gz]", what: "none.kind.kineto" },
] as const;

/** Shown without results: the expected names, the logdir, and skipped folders. */
export function NoRuns({ catalog }: { catalog: CatalogJson }) {
  const { logdirs, scanning, skipped, summaries } = catalog;
  const logdir = logdirs.join(t("none.and"));
  if (scanning) {
    return (
      <section class="card panel" role="status">
        {t("none.scanning", { logdir })}
      </section>
    );
  }
  const isUnparsed = skipped.some((item) => item.command !== "");
  const notOpened = skipped.length > 0 && (
    <>
      <h2>{t(isUnparsed ? "none.unparsed" : "side.skipped")}</h2>
      <SkippedItems skipped={skipped} />
    </>
  );
  return (
    <section class="card panel">
      {summaries.length > 0 && <h2>{t("summaries.title")}</h2>}
      <Summaries summaries={summaries} />
      {isUnparsed && notOpened}
      <h2>{t("none.title")}</h2>
      <p>{t("none.where", { logdir })}</p>
      <Facts facts={KINDS.map(({ name, what }) => [<code key={name}>{name}</code>, t(what)])} />
      {!isUnparsed && <p class="muted">{t("none.analyse")}</p>}
      <p class="muted">{t("none.mock")}</p>
      <ShellCommand command={`tb-npu mock --out ${shellWord(logdirs[0] ?? "")}`} />
      <p class="muted">{t("none.auto")}</p>
      <p>
        <Button onClick={() => void loadCatalog(true)}>{t("none.rescan")}</Button>
      </p>
      {!isUnparsed && notOpened}
    </section>
  );
}

interface Choice {
  id: string;
  label: string;
}

/** Largest number of choices; the sidebar has all. */
const MOST = 30;

/** Shown if the URL refers to a missing item, with the existing ones. The URL stays until the user chooses. */
export function NotFound({ missing, catalog }: { missing: Missing; catalog: CatalogJson }) {
  const { kind, id } = missing;
  const choices = choicesOf(missing, catalog);
  return (
    <section class="card panel view-frame" data-state="missing" role="alert">
      <h2>{t(`missing.${kind}`)}</h2>
      <p>
        {t("missing.named")} <code>{id}</code>
      </p>
      {catalog.scanning && <p>{t("missing.scanning")}</p>}
      <p class="muted">{t(`missing.${kind}.choose`)}</p>
      <p class="row">
        {choices.slice(0, MOST).map((choice) => (
          <Button key={choice.id} onClick={() => choose(kind, choice.id)}>
            {choice.label}
          </Button>
        ))}
      </p>
    </section>
  );
}

function choicesOf({ kind }: Missing, { runs }: CatalogJson): Choice[] {
  if (kind === "view") return VIEW_IDS.map((id) => ({ id, label: viewTitle(id) }));
  if (kind === "run") return runs;
  const run = runs.find((item) => item.id === selection.value.run);
  if (kind === "worker") return (run?.workers ?? []).map((item) => ({ id: item.id, label: workerName(item) }));
  return run?.workers.find((item) => item.id === selection.value.worker)?.spans ?? [];
}

function choose(kind: Missing["kind"], id: string): void {
  if (kind === "view") openView(id as ViewId);
  else if (kind === "run") chooseRun(id);
  else if (kind === "worker") chooseWorker(id);
  else chooseSpan(id);
}
