/** The steps on the ruler. */

import { signal } from "@preact/signals";
import type { StepMarkJson } from "../../api/types.gen";
import { tOf } from "../../i18n";
import { whenRead } from "./derived_rows";
import type { TimelinePort } from "./timeline_port";

export class StepMarks {
  /** Times of the steps; none until they are known. */
  readonly all = signal<readonly StepMarkJson[]>([]);
  isPending = true;

  constructor(private readonly port: TimelinePort) {}

  /** Loads the steps of a complete reading; without rows, those of the strip. */
  async load(): Promise<void> {
    const { port } = this;
    if (port.data.partial !== null) return;
    const { api } = port;
    const ofStrip = port.data.steps.map((step) => ({ ...step, device: null }));
    try {
      const found = port.data.processes.length === 0 ? ofStrip : await whenRead(() => api.steps());
      if (api !== port.api) return;
      this.isPending = false;
      this.all.value = [...found];
      this.show();
    } catch (error) {
      port.fail(error);
    }
  }

  /** Shows them in the current language. */
  show(): void {
    const { period } = this.port.data;
    const steps = this.all.peek().map(({ step, device, start, end }) => {
      return { name: tOf(period, "trace.step", { step }), device: device === null ? "" : String(device), start, end };
    });
    this.port.engine?.update({ steps });
  }
}
