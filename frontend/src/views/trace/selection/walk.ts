/** Steps from task to task: the kernels of an operator in device order, else the tasks of a stream. */

import type { ReadonlySignal } from "@preact/signals";
import type { DescentJson } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import { t } from "../../../i18n";
import { isDerivedSlice } from "../../../timeline/lanes";
import type { TimelinePort } from "../timeline_port";

export type Direction = "next" | "previous";

/** What a walk does with the selection. */
interface Selecting {
  readonly selected: ReadonlySignal<{ id: number; detail: unknown } | null>;
  select(id: number, follow: "sight"): Promise<void>;
  followFlow(direction: Direction): void;
}

export class Walk {
  /** The operator whose tasks are walked, and their ids in device order. */
  private of: { id: number; tasks: readonly number[] } | null = null;
  private readonly request = new Latest();

  constructor(
    private readonly port: Pick<TimelinePort, "say" | "fail">,
    private readonly selection: Selecting,
    private readonly load: (id: number) => Promise<DescentJson>,
  ) {}

  /** Walks the tasks of slice `id` from the selected one on. */
  begin(id: number, tasks: readonly number[]): void {
    this.of = { id, tasks };
  }

  stop(): void {
    this.of = null;
    this.request.cancel();
  }

  /**
   * Selects the next or previous task. From an operator: its first task; from its first task back: the operator. From any
   * other task: its neighbour on the stream. From a slice without tasks: along a flow.
   */
  async step(direction: Direction): Promise<void> {
    const { selection } = this;
    const now = selection.selected.peek();
    if (!now?.detail || isDerivedSlice(now.id)) return;
    const place = this.of?.tasks.indexOf(now.id) ?? -1;
    if (this.of && place >= 0) {
      this.goTo(this.of.tasks[place + (direction === "next" ? 1 : -1)] ?? (direction === "next" ? null : this.of.id));
      return;
    }
    try {
      const found = await this.request.run(() => this.load(now.id));
      if (!found) return;
      const tasks = idsOf(found);
      if (direction === "next" && tasks.length > 0) {
        this.begin(now.id, tasks);
        this.goTo(tasks[0] ?? null);
      } else if (found.is_host) selection.followFlow(direction);
      else this.goTo(found[direction]);
    } catch (error) {
      this.port.fail(error);
    }
  }

  private goTo(id: number | null): void {
    const { of } = this;
    if (id === null) this.port.say(t("trace.walk.end"));
    else void this.selection.select(id, "sight");
    this.of = of; // any other selection ends the walk
  }
}

/** Ids of the loaded tasks, in device order. */
export function idsOf(descent: DescentJson): number[] {
  return (descent.tasks.data.id ?? []).map(Number);
}
