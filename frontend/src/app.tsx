import { useEffect, useRef, useState } from "preact/hooks";
import { VIEW_IDS } from "./api/types.gen";
import { listen } from "./base/listen";
import { useMedia } from "./base/use_media";
import { t } from "./i18n";
import { NoRuns, NotFound } from "./shell/no_runs";
import { SideBar } from "./shell/side_bar";
import { HelpDialog, TopBar } from "./shell/top_bar";
import { Boundary, ViewHost } from "./shell/view_host";
import { catalog, catalogError, loadCatalog } from "./state/catalog";
import { missing, openView, pinSelection, selection } from "./state/selection";
import { Button } from "./widgets/button";
import { GlossaryDialog } from "./widgets/glossary";
import { ErrorPanel } from "./widgets/states";
import { TooltipLayer } from "./widgets/tooltip";

const NARROW = "(max-width: 899px)";

/** The frame around the views. */
export function App() {
  const isNarrow = useMedia(NARROW);
  const [isSideOpen, setSideOpen] = useState<boolean | null>(null);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const hasSide = isSideOpen ?? !isNarrow;
  const { view, run, worker, span } = selection.value;

  useEffect(() => setSideOpen(null), [isNarrow]);
  // On a narrow page the sidebar covers the view: close it after a choice.
  useEffect(() => {
    if (isNarrow) setSideOpen(null);
  }, [view, run, worker, span]);
  const isOver = isNarrow && hasSide;
  useEffect(() => {
    if (!isOver) return;
    const close = () => setSideOpen(null);
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && !document.querySelector(".popover") && close();
    const onPointer = (event: PointerEvent) =>
      !(event.target as Element).closest(".side, .top, .popover, dialog") && close();
    return listen(document, { keydown: onKey, pointerdown: onPointer });
  }, [isOver]);
  useEffect(pinSelection, [catalog.value, run, worker, span]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
      const id = VIEW_IDS["1234567890-".split("").indexOf(event.key)];
      if (event.key === "?") setHelpOpen(true);
      else if (id) openView(id);
    };
    return listen(document, { keydown: onKey });
  }, []);

  const shape = hasSide ? (isNarrow ? "narrow open" : "") : "narrow";
  return (
    <div id="shell" class={shape} data-ready={catalog.value !== null} data-view={view}>
      <Button look="control skip" onClick={() => main.current?.focus()}>
        {t("top.skip")}
      </Button>
      <Boundary of={view}>
        <TopBar onToggleSide={() => setSideOpen(!hasSide)} onHelp={() => setHelpOpen(true)} />
      </Boundary>
      <Boundary of={view}>
        <SideBar />
      </Boundary>
      <main ref={main} class="main" tabIndex={-1}>
        <Content />
      </main>
      <HelpDialog isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
      <GlossaryDialog />
      <TooltipLayer />
    </div>
  );
}

function Content() {
  const found = catalog.value;
  if (!found && catalogError.value) return <ErrorPanel error={catalogError.value} onRetry={() => void loadCatalog()} />;
  if (!found) {
    return (
      <section class="card panel" role="status">
        {t("state.loading")}
      </section>
    );
  }
  if (found.runs.length === 0) return <NoRuns catalog={found} />;
  return missing.value ? <NotFound missing={missing.value} catalog={found} /> : <ViewHost />;
}
