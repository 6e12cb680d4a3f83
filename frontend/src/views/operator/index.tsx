import type { ViewModule } from "../view";

function OperatorView() {
  return null;
}

export const view: ViewModule = { id: "operator", titleKey: "view.operator", Component: OperatorView };
