import type { ViewModule } from "../view";

function KernelView() {
  return null;
}

export const view: ViewModule = { id: "kernel", titleKey: "view.kernel", Component: KernelView };
