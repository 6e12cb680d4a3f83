import type { ComponentChildren } from "preact";
import type { ViewId } from "../api/types.gen";
import { addressOf } from "../state/params";
import { openView } from "../state/selection";

/** Parameters of a view; null removes one. */
type State = Readonly<Record<string, string | null>>;

interface Props {
  view: ViewId;
  state?: State;
  /** Time that the view lists, ns: the sum of what the link opens. */
  ns?: number;
  /** Called when the view opens in this tab. */
  onOpen?: () => void;
  children: ComponentChildren;
}

/** A link to a view. */
export function ViewLink({ view, state, ns, onOpen, children }: Props) {
  return (
    <a class="link" data-ns={ns} {...linkTo(view, state, onOpen)}>
      {children}
    </a>
  );
}

/** Attributes of a link to a view: its address carries the whole state, for another tab. onOpen: see Props. */
export function linkTo(view: ViewId, state: State = {}, onOpen = () => {}) {
  const onClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openView(view, state);
    onOpen();
  };
  return { href: addressOf({ view, ...state }), onClick };
}
