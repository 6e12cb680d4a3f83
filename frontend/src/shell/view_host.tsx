import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { ViewId } from "../api/types.gen";
import { t } from "../i18n";
import { selection } from "../state/selection";
import { VIEWS } from "../views/registry";
import type { ViewModule } from "../views/view";
import { ErrorPanel } from "../widgets/states";

const loaded = new Map<ViewId, ViewModule>();

/** The selected view; its code is loaded when it is first shown. */
export function ViewHost() {
  const { view: id } = selection.value;
  const [, setCount] = useState(0);
  const [failed, setFailed] = useState<{ of: ViewId; error: ApiError } | null>(null);
  const module = loaded.get(id);

  useEffect(() => {
    if (loaded.has(id)) return;
    let isGone = false;
    setFailed(null);
    VIEWS[id]().then(
      (found) => {
        loaded.set(id, found);
        if (!isGone) setCount((count) => count + 1);
      },
      (reason: unknown) => {
        if (!isGone) setFailed({ of: id, error: new ApiError("chunk", String(reason), "", 0) });
      },
    );
    return () => {
      isGone = true;
    };
  }, [id]);

  if (failed?.of === id) return <ErrorPanel error={failed.error} onRetry={() => window.location.reload()} />;
  if (!module) return null;
  const { Component } = module;
  return (
    <Boundary of={JSON.stringify(selection.value)}>
      <Component key={id} selection={selection.value} />
    </Boundary>
  );
}

interface BoundaryProps {
  /** Key of the content; a change retries. */
  of: string;
  children: ComponentChildren;
}

/** Limits an error while drawing to this part of the page and shows it. */
export function Boundary({ of, children }: BoundaryProps) {
  const [error, reset] = useErrorBoundary((reason: unknown) => console.error(reason));
  useEffect(() => {
    if (error !== undefined) reset();
  }, [of]);
  if (error === undefined) return <>{children}</>;
  const shown = new ApiError("defect", String(error), t("state.defect.hint"), 0);
  return <ErrorPanel title={t("state.defect")} error={shown} onRetry={reset} />;
}
