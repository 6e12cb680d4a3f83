/** TensorBoard's messages to plugins: the "Reload" button and auto reload arrive as `experimental.DataReloaded`. */
interface Message {
  type: string;
  id: number;
  isReply: boolean;
}

/** Calls `onReload` on every reload of TensorBoard; never without TensorBoard. */
export function followReload(onReload: () => void): void {
  if (window.parent === window) return;
  const channel = new MessageChannel();
  channel.port1.onmessage = (event: MessageEvent<unknown>) => {
    const message = parse(event.data);
    if (message === null || message.isReply) return;
    if (message.type === "experimental.DataReloaded") onReload();
    // TensorBoard waits for an answer to every message.
    const reply = { type: message.type, id: message.id, payload: null, error: null, isReply: true };
    channel.port1.postMessage(JSON.stringify(reply));
  };
  window.parent.postMessage("experimental.bootstrap", "*", [channel.port2]);
}

function parse(data: unknown): Message | null {
  try {
    const message = JSON.parse(String(data)) as Partial<Message>;
    if (typeof message.type !== "string" || typeof message.id !== "number") return null;
    return { type: message.type, id: message.id, isReply: message.isReply === true };
  } catch {
    return null;
  }
}
