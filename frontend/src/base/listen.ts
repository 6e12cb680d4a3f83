type Handlers = { [Type in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Type]) => unknown } & {
  [type: string]: ((event: never) => unknown) | undefined;
};

/** Calls all of several functions that stop something. */
export const together = (stops: readonly (() => void)[]) => () => {
  for (const stop of stops) stop();
};

/** Listens to events until the returned function is called. */
export function listen(target: EventTarget, handlers: Handlers, options: AddEventListenerOptions = {}): () => void {
  const end = new AbortController();
  for (const [type, handler] of Object.entries(handlers)) {
    target.addEventListener(type, handler as EventListener, { ...options, signal: end.signal });
  }
  return () => end.abort();
}
