import type { ComponentType } from "preact";
import type { Selection } from "../state/selection";

/** What a view's component is given: tokens of what is selected ("" where nothing is). */
export interface ViewProps {
  selection: Selection;
}

/** What the index of a view's folder exports as `view`. */
export interface ViewModule {
  Component: ComponentType<ViewProps>;
}
