import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { ApiError } from "../api/client";
import { t } from "../i18n";
import { ErrorPanel } from "../widgets/states";

interface Props {
  /** Key of the content; a change retries. */
  of: string;
  children: ComponentChildren;
}

/** Limits an error while drawing to this part of the page and shows it. */
export function Boundary({ of, children }: Props) {
  const [error, reset] = useErrorBoundary((reason: unknown) => console.error(reason));
  useEffect(() => {
    if (error !== undefined) reset();
  }, [of]);
  if (error === undefined) return <>{children}</>;
  const shown = new ApiError("defect", String(error), t("state.defect.hint"), 0);
  return <ErrorPanel title={t("state.defect")} error={shown} onRetry={reset} />;
}
