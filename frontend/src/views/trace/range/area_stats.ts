/** Statistics of the dragged range. */

import { signal } from "@preact/signals";
import type { StatsJson } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import type { Area } from "../../../timeline/scene";
import type { Grouping, TimelineApi } from "../api";
import { messageOf } from "../format";
import type { MembersOf } from "../ranks/placement";

/** What the panel lists of a range. */
export type AreaList = "slices" | "counters" | "ranks";

export class AreaStats {
  readonly area = signal<Area | null>(null);
  readonly stats = signal<StatsJson | null>(null);
  readonly error = signal("");
  readonly by = signal<Grouping>("name_row");
  readonly list = signal<AreaList>("slices");
  /** The row whose slices are listed; null: the statistics. */
  readonly members = signal<MembersOf | null>(null);
  private readonly request = new Latest();
  private asked = "";

  constructor(private readonly api: () => TimelineApi) {}

  /** Requests the statistics of `area`. `isSame`: keeps the old ones meanwhile, which cover less of the trace. */
  async set(area: Area | null, isSame = false): Promise<void> {
    this.area.value = area;
    this.error.value = "";
    if (!isSame) this.members.value = null;
    if (!isSame) this.stats.value = null;
    if (!area) {
      this.request.cancel();
      return;
    }
    this.asked = this.api().statsKey(area);
    if (this.asked === "") return; // its rank is still being loaded
    try {
      const stats = await this.request.run((signal) => this.api().stats(area, this.by.peek(), signal));
      if (stats) this.stats.value = stats;
    } catch (error) {
      this.stats.value = null;
      this.error.value = messageOf(error);
    }
  }

  /** Requests them again if the range has other rows or ranks now, or a rank other times. */
  reload(): void {
    const area = this.area.peek();
    if (area && this.api().statsKey(area) !== this.asked) void this.set(area, true);
  }

  /** Shows the statistics of slices by another grouping, or those of counters or ranks. */
  async show(what: Grouping | "counters" | "ranks"): Promise<void> {
    this.members.value = null;
    const isOfSlices = what !== "counters" && what !== "ranks";
    this.list.value = isOfSlices ? "slices" : what;
    if (!isOfSlices || what === this.by.peek()) return;
    this.by.value = what;
    await this.set(this.area.peek());
  }

  /** Lists what the ranks did for a range over strips, and slices again for the next one over rows. */
  listRanks(isOfRanks: boolean): void {
    if (isOfRanks) this.list.value = "ranks";
    else if (this.area.peek()?.lanes) this.list.value = "slices";
  }

  stop(): void {
    this.request.cancel();
  }
}
