import { addStyle } from "../../base/style";
import type { ViewModule } from "../view";
import css from "./diff.css?inline";
import { DiffView } from "./view";

addStyle(css);

export const view: ViewModule = { Component: DiffView };
