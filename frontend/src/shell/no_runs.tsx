import type { CatalogJson } from "../api/types.gen";
import { t } from "../i18n";
import { loadCatalog } from "../state/catalog";
import { Button } from "../widgets/button";
import { SkippedItems } from "./skipped";

/** Nothing was found: what was looked for, where, and what was not taken. */
export function NoRuns({ catalog }: { catalog: CatalogJson }) {
  const { logdir, scanning, skipped } = catalog;
  if (scanning) {
    return (
      <section class="card panel" role="status">
        {t("none.scanning", { logdir })}
      </section>
    );
  }
  return (
    <section class="card panel">
      <h2>{t("none.title")}</h2>
      <p>{t("none.where", { logdir })}</p>
      <p class="muted">{t("none.expected")}</p>
      <p class="muted">{t("none.analyse")}</p>
      <p class="muted">{t("none.auto")}</p>
      <p>
        <Button onClick={() => void loadCatalog(true)}>{t("none.rescan")}</Button>
      </p>
      {skipped.length > 0 && (
        <>
          <h2 style={{ marginTop: "16px" }}>{t("side.skipped")}</h2>
          <SkippedItems skipped={skipped} />
        </>
      )}
    </section>
  );
}
