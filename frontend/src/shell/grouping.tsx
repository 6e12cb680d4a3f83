/** What a run is made of, and how to join and split runs. */

import type { CatalogJson, RunJson } from "../api/types.gen";
import { t, textOf } from "../i18n";
import { isGrouped, joinRuns, splitRun, ungroup } from "../state/grouping";
import { Button } from "../widgets/button";
import { PagedItems } from "../widgets/pages";
import { Popover } from "../widgets/popover";
import { Select } from "../widgets/select";

/** Hidden where there is one run of one folder. */
export function RunFolders({ run, catalog }: { run: RunJson; catalog: CatalogJson }) {
  const { runs, offers } = catalog;
  const own = offers.filter((offer) => offer.runs.includes(run.id));
  if (runs.length < 2 && run.folders.length < 2 && !isGrouped()) return null;
  const isOne = run.folders.length < 2;
  const name = own.length > 0 ? t("side.folders.offer") : t(isOne ? "side.folders.with" : "side.folders");
  const face = (
    <>
      <span>{name}</span>
      {!isOne && <span class="arrow muted">{run.folders.length}</span>}
    </>
  );
  return (
    <Popover label={face} name={name} tip={textOf(run, "basis")}>
      {(close) => {
        const then = (change: () => void) => () => {
          close();
          change();
        };
        return (
          <div style={{ padding: "6px 8px" }}>
            <p class="small">{textOf(run, "basis")}</p>
            {run.folders.length > 1 && <Folders run={run} />}
            {run.folders.length > 1 && <Button onClick={then(() => splitRun(run))}>{t("side.folders.split")}</Button>}
            {own.map((offer) => {
              const alike = runs.filter(({ id }) => offer.runs.includes(id));
              return (
                <div key={offer.runs.join()}>
                  <p class="small">
                    <strong>{alike.map(({ label }) => label).join(", ")}</strong> {textOf(offer, "reason")}
                  </p>
                  <Button onClick={then(() => joinRuns(alike))}>{t("side.folders.join")}</Button>
                </div>
              );
            })}
            {isGrouped() && <Button onClick={then(ungroup)}>{t("side.folders.found")}</Button>}
            {runs.length > 1 && <JoinWith run={run} runs={runs} />}
          </div>
        );
      }}
    </Popover>
  );
}

function Folders({ run }: { run: RunJson }) {
  return (
    <PagedItems items={run.folders} list="small">
      {({ id, label }) => <li key={id}>{label}</li>}
    </PagedItems>
  );
}

function JoinWith({ run, runs }: { run: RunJson; runs: readonly RunJson[] }) {
  const others = runs.filter(({ id }) => id !== run.id);
  return (
    <Select
      label={t("side.folders.with")}
      placeholder={t("side.folders.with")}
      options={others.map(({ id, label }) => ({ id, label }))}
      value=""
      onChange={(id) => joinRuns([run, ...others.filter((other) => other.id === id)])}
    />
  );
}
