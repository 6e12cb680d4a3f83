import type { ViewModule } from "../view";

function DistributedView() {
  return null;
}

export const view: ViewModule = { id: "distributed", titleKey: "view.distributed", Component: DistributedView };
