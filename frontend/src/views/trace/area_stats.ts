/** Statistics of the dragged range. */

import { signal } from "@preact/signals";
import { Latest } from "../../base/async";
import { say } from "../../i18n";
import type { Area } from "../../timeline/scene";
import type { StatsAnswer, TimelineApi } from "./api";

export class AreaStats {
  readonly area = signal<Area | null>(null);
  readonly stats = signal<StatsAnswer | null>(null);
  readonly error = signal("");
  private readonly request = new Latest();

  constructor(private readonly api: () => TimelineApi) {}

  async set(area: Area | null): Promise<void> {
    this.area.value = area;
    this.error.value = "";
    if (!area) {
      this.request.cancel();
      this.stats.value = null;
      return;
    }
    try {
      const stats = await this.request.run((signal) => this.api().stats(area, signal));
      if (stats) this.stats.value = stats;
    } catch (error) {
      this.stats.value = null;
      this.error.value = say(error instanceof Error ? error.message : String(error));
    }
  }

  stop(): void {
    this.request.cancel();
  }
}
