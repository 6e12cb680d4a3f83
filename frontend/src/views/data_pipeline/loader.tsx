import type { LoaderJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { Card } from "../../widgets";

/** How long the host waited for batches from PyTorch's DataLoader. */
export function LoaderCard({ loader }: { loader: LoaderJson }) {
  const facts: [string, string][] = [
    [t("data.loader.calls"), format.integer(loader.calls)],
    [t("data.loader.total"), format.duration(loader.total_ns)],
    [t("data.loader.mean"), format.duration(loader.total_ns / loader.calls)],
    [t("data.loader.longest"), format.duration(loader.longest_ns)],
    [
      t("data.loader.share"),
      loader.steps_ns ? format.percent((100 * loader.total_ns) / loader.steps_ns) : t("core.unknown"),
    ],
  ];
  return (
    <Card title={t("data.loader")} subtitle={t("data.source", { file: loader.source })}>
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
