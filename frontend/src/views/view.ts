import type { ComponentType } from "preact";
import type { Selection } from "../state/selection";

/** Props of a view: ids of the selection ("" if nothing is selected). */
export interface ViewProps {
  selection: Selection;
}

/** The export `view` of each view folder. */
export interface ViewModule {
  Component: ComponentType<ViewProps>;
}
