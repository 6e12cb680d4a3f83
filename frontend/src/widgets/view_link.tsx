import type { ComponentChildren } from "preact";
import type { ViewId } from "../api/types.gen";
import { addressOf } from "../state/params";
import { openView } from "../state/selection";

interface Props {
  view: ViewId;
  /** Parameters of the view. */
  state?: Readonly<Record<string, string | null>>;
  /** Time that the view lists, ns: the sum of what the link opens. */
  ns?: number;
  /** Called when the view opens in this tab. */
  onOpen?: () => void;
  children: ComponentChildren;
}

/** A link to a view. The address carries the whole state, for another tab. */
export function ViewLink({ view, state = {}, ns, onOpen, children }: Props) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openView(view, state);
    onOpen?.();
  };
  return (
    <a class="link" href={addressOf({ view, ...state })} data-ns={ns} onClick={open}>
      {children}
    </a>
  );
}
