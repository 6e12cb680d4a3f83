/** The steps on the ruler. */

import type { StepMarkJson } from "../../api/types.gen";
import { tOf } from "../../i18n";
import { whenRead } from "./derived_rows";
import type { TimelinePort } from "./timeline_port";

export class StepMarks {
  private found: readonly StepMarkJson[] = [];

  constructor(private readonly port: TimelinePort) {}

  /** Loads the steps of a complete reading. */
  async load(): Promise<void> {
    const { port } = this;
    if (port.data.partial !== null || port.data.processes.length === 0) return;
    const { api } = port;
    try {
      const found = await whenRead(() => api.steps());
      if (api !== port.api) return;
      this.found = found;
      this.show();
    } catch (error) {
      port.fail(error);
    }
  }

  /** Shows them in the current language. */
  show(): void {
    const { period } = this.port.data;
    const steps = this.found.map(({ step, device, start, end }) => {
      return { name: tOf(period, "trace.step", { step }), device: device === null ? "" : String(device), start, end };
    });
    this.port.engine?.update({ steps });
  }
}
