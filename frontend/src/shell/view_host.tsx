import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { ViewId } from "../api/types.gen";
import { selection } from "../state/selection";
import { VIEWS } from "../views/registry";
import type { ViewModule } from "../views/view";
import { ErrorPanel } from "../widgets/states";
import { Boundary } from "./boundary";

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
