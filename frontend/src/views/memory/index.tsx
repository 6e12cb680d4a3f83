import { addStyle } from "../../base/style";
import type { ViewModule } from "../view";
import css from "./memory.css?inline";
import { MemoryView } from "./view";

addStyle(css);

export const view: ViewModule = { Component: MemoryView };
