/** The steps on the ruler. */

import type { StepMarkJson } from "../../api/types.gen";
import { tOf } from "../../i18n";
import { whenRead } from "./derived_rows";
import type { TraceSession } from "./session";

export class StepMarks {
  private found: readonly StepMarkJson[] = [];

  constructor(private readonly session: TraceSession) {}

  /** Loads the steps of a complete reading. */
  async load(): Promise<void> {
    const { session } = this;
    if (session.data.partial !== null) return;
    const { api } = session;
    try {
      const found = await whenRead(() => api.steps());
      if (api !== session.api) return;
      this.found = found;
      this.show();
    } catch (error) {
      session.fail(error);
    }
  }

  /** Shows them in the current language. */
  show(): void {
    const { period } = this.session.data;
    const steps = this.found.map(({ step, device, start, end }) => {
      return { name: tOf(period, "trace.step", { step }), device: device === null ? "" : String(device), start, end };
    });
    this.session.engine?.update({ steps });
  }
}
