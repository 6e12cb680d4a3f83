import { render as mount } from "preact";
import { App } from "./app";
import { firstValue } from "./base/async";
import { addStyle } from "./base/style";
import { followLang } from "./i18n";
import { shareFonts } from "./shell/fonts";
import { catalog, loadCatalog } from "./state/catalog";
import { followGrouping } from "./state/grouping";
import { followUrl } from "./state/params";
import { followProgress } from "./state/progress";
import { followReload } from "./state/reload";
import { selection } from "./state/selection";
import { followTheme } from "./state/theme";
import { requestAhead } from "./state/use_view";
import { followVisibility } from "./state/visibility";
import base from "./styles/base.css?inline";
import charts from "./styles/charts.css?inline";
import panels from "./styles/panels.css?inline";
import progress from "./styles/progress.css?inline";
import shell from "./styles/shell.css?inline";
import table from "./styles/table.css?inline";
import tokens from "./styles/tokens.css?inline";
import widgets from "./styles/widgets.css?inline";
import { VIEWS, VIEWS_OF_SPAN } from "./views/registry";

/** How long (ms) the first frame waits for the catalog, so that most pages are laid out once. */
const PATIENCE_MS = 100;

/** Called by TensorBoard once the module is loaded. */
export function render(): void {
  followUrl();
  followVisibility();
  followGrouping();
  followProgress(); // requests the catalog
  const ready = startView();
  for (const css of [tokens, base, widgets, panels, charts, progress, table, shell]) addStyle(css);
  shareFonts();
  followTheme();
  followLang();
  followReload(() => void loadCatalog(true));
  const root = document.createElement("div");
  root.id = "app";
  document.body.replaceChildren(root);
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  void Promise.race([ready, patience]).then(() => mount(<App />, root));
}

/** Loads the first view's code while the catalog is loaded, and requests its data as soon as the span is known. */
async function startView(): Promise<void> {
  VIEWS[selection.peek().view]().catch(() => {}); // ViewHost shows the error
  await firstValue(catalog);
  const { view, span } = selection.peek();
  if (span && VIEWS_OF_SPAN.has(view)) requestAhead(view, { span });
}
