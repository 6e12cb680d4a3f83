import { addStyle } from "../../base/style";
import type { ViewModule } from "../view";
import css from "./distributed.css?inline";
import { DistributedView } from "./view";

addStyle(css);

export const view: ViewModule = { Component: DistributedView };
