import type { ComponentType } from "preact";
import type { Key } from "../i18n";
import type { Selection } from "../state/selection";

/** The seven views, as the server names them. */
export type ViewId = "overview" | "trace" | "kernel" | "operator" | "memory" | "distributed" | "diff";

/** What a view's component is given: tokens of what is selected ("" where nothing is). */
export interface ViewProps {
  selection: Selection;
}

/** What the index of a view's folder exports as `view`. */
export interface ViewModule {
  id: ViewId;
  titleKey: Key;
  Component: ComponentType<ViewProps>;
}
