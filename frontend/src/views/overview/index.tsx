import type { ViewModule } from "../view";

function OverviewView() {
  return null;
}

export const view: ViewModule = { id: "overview", titleKey: "view.overview", Component: OverviewView };
