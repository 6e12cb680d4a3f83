import { type CatalogJson, VIEW_IDS, type ViewId } from "../api/types.gen";
import { t, viewTitle } from "../i18n";
import { workerName } from "../state/catalog";
import { chooseRun, chooseSpan, chooseWorker, type Missing, openView, selection } from "../state/selection";
import { Button } from "../widgets/button";

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
