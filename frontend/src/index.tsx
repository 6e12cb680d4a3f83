import { render as mount } from "preact";
import { App } from "./app";
import { addStyle } from "./base/style";
import { followLang } from "./i18n";
import { shareFonts } from "./shell/fonts";
import { loadCatalog } from "./state/catalog";
import { followUrl } from "./state/params";
import { followProgress } from "./state/progress";
import { followReload } from "./state/reload";
import { selection } from "./state/selection";
import { followTheme } from "./state/theme";
import { followVisibility } from "./state/visibility";
import base from "./styles/base.css?inline";
import charts from "./styles/charts.css?inline";
import panels from "./styles/panels.css?inline";
import progress from "./styles/progress.css?inline";
import shell from "./styles/shell.css?inline";
import table from "./styles/table.css?inline";
import tokens from "./styles/tokens.css?inline";
import widgets from "./styles/widgets.css?inline";
import { VIEWS } from "./views/registry";

/** Called by TensorBoard once the module is loaded. */
export function render(): void {
  for (const css of [tokens, base, widgets, panels, charts, progress, table, shell]) addStyle(css);
  shareFonts();
  followUrl();
  followTheme();
  followLang();
  followVisibility();
  followReload(() => void loadCatalog(true));
  followProgress();
  VIEWS[selection.peek().view]().catch(() => {}); // loaded while the catalog is; ViewHost shows the error
  const root = document.createElement("div");
  root.id = "app";
  document.body.replaceChildren(root);
  mount(<App />, root);
}
