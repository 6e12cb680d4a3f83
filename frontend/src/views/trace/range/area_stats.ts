/** Statistics of the dragged range. */

import { signal } from "@preact/signals";
import type { StatsJson } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import type { Area } from "../../../timeline/scene";
import type { TimelineApi } from "../api";
import { messageOf } from "../format";

export class AreaStats {
  readonly area = signal<Area | null>(null);
  readonly stats = signal<StatsJson | null>(null);
  readonly error = signal("");
  private readonly request = new Latest();

  constructor(private readonly api: () => TimelineApi) {}

  /** Requests the statistics of `area`. `isSame`: keeps the old ones meanwhile, which cover less of the trace. */
  async set(area: Area | null, isSame = false): Promise<void> {
    this.area.value = area;
    this.error.value = "";
    if (!isSame) this.stats.value = null;
    if (!area) {
      this.request.cancel();
      return;
    }
    try {
      const stats = await this.request.run((signal) => this.api().stats(area, signal));
      if (stats) this.stats.value = stats;
    } catch (error) {
      this.stats.value = null;
      this.error.value = messageOf(error);
    }
  }

  stop(): void {
    this.request.cancel();
  }
}
