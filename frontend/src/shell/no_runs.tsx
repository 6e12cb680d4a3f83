import type { CatalogJson } from "../api/types.gen";
import { t } from "../i18n";
import { loadCatalog } from "../state/catalog";
import { Button } from "../widgets/button";
import { Facts } from "../widgets/facts";
import { ShellCommand, shellWord } from "../widgets/shell_command";
import { SkippedItems } from "../widgets/skipped";
import { Summaries } from "../widgets/summaries";

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
