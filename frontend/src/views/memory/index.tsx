import type { ViewModule } from "../view";

function MemoryView() {
  return null;
}

export const view: ViewModule = { id: "memory", titleKey: "view.memory", Component: MemoryView };
