import type { LoaderJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { Card } from "../../widgets";

/** Shows how long the host waited for batches of PyTorch's DataLoader. */
export function LoaderCard({ loader }: { loader: LoaderJson }) {
  const mean = format.duration(loader.total_ns / loader.calls);
  const part = loader.steps_ns ? loader.total_ns / loader.steps_ns : null;
  const facts: [string, string][] = [
    [t("data.loader.calls"), format.integer(loader.calls)],
    [t("data.loader.total"), format.duration(loader.total_ns)],
    [t("data.loader.mean"), mean],
    [t("data.loader.longest"), format.duration(loader.longest_ns)],
    [t("data.loader.share"), part === null ? t("core.unknown") : format.percentOfRatio(part)],
  ];
  return (
    <Card title={t("data.loader")} subtitle={t("data.source", { file: loader.source })}>
      {part !== null && (
        <p class="data-verdict">{t("data.loader.head", { mean, share: format.percentOfRatio(part) })}</p>
      )}
      <dl class="facts">
        {facts.map(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} value`} class="mono">
            {value}
          </dd>,
        ])}
      </dl>
    </Card>
  );
}
