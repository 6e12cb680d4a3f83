import type { StreamQueue } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { Card } from "../../widgets";

/** Launches of each stream: how far the host is ahead of the device. */
export function QueueTable({ queues }: { queues: readonly StreamQueue[] }) {
  return (
    <Card title={t("idle.queues")} help={t("idle.queues.help")}>
      <dl class="facts">
        {queues.map((queue) => [
          <dt key={queue.stream}>{queue.stream}</dt>,
          <dd key={`${queue.stream} value`}>
            {t("idle.queue", {
              tasks: format.integer(queue.tasks),
              empty: format.percentOfRatio(queue.empty_share),
              p50: format.duration(queue.latency_p50_ns),
              max: format.duration(queue.latency_max_ns),
              length: format.integer(queue.queue_p50),
              most: format.integer(queue.queue_max),
            })}
          </dd>,
        ])}
      </dl>
    </Card>
  );
}
