import type { ViewModule } from "../view";

function DiffView() {
  return null;
}

export const view: ViewModule = { id: "diff", titleKey: "view.diff", Component: DiffView };
