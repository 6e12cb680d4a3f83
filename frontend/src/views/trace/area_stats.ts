/** Statistics of the dragged range. */

import { signal } from "@preact/signals";
import { Latest } from "../../base/async";
import { say } from "../../i18n";
import type { Area } from "../../timeline/scene";
import { rangeStats, type StatsAnswer } from "./api";

export class AreaStats {
  readonly area = signal<Area | null>(null);
  readonly stats = signal<StatsAnswer | null>(null);
  readonly error = signal("");
  private readonly request = new Latest();

  constructor(private readonly span: string) {}

  async set(area: Area | null): Promise<void> {
    this.area.value = area;
    this.error.value = "";
    if (!area) {
      this.request.cancel();
      this.stats.value = null;
      return;
    }
    try {
      const { start, end, tracks } = area;
      const stats = await this.request.run((signal) => rangeStats(this.span, start, end, tracks, signal));
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
