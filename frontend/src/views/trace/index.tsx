import type { ViewModule } from "../view";

function TraceView() {
  return null;
}

export const view: ViewModule = { id: "trace", titleKey: "view.trace", Component: TraceView };
