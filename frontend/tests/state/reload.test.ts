import { afterEach, expect, test, vi } from "vitest";
import { followReload } from "../../src/state/reload";
import { waitFor } from "../wait";
import { HostPage, leavePage, within } from "./fresh";

afterEach(leavePage);

test("a reload of TensorBoard reloads; every message of it is answered, nothing else", async () => {
  const host = new HostPage();
  const onReload = vi.fn();
  await within(async () => followReload(onReload), host);
  const [greeting, target, [port]] = host.postMessage.mock.calls[0] as [string, string, MessagePort[]];
  expect([greeting, target]).toEqual(["experimental.bootstrap", "*"]);
  const answers: unknown[] = [];
  (port as MessagePort).onmessage = (event) => answers.push(JSON.parse(String(event.data)));
  const message = (type: unknown, id: unknown, isReply?: unknown) => JSON.stringify({ type, id, isReply });
  const reload = "experimental.DataReloaded";
  for (const text of ["no JSON", "null", message(1, 2), message(reload, "7"), message(reload, 3, true)]) {
    port?.postMessage(text);
  }
  for (const text of [message("other", 4), message(reload, 5, false)]) port?.postMessage(text);
  await waitFor(() => expect(answers).toHaveLength(2));
  const rest = { payload: null, error: null, isReply: true };
  expect(answers).toEqual([
    { type: "other", id: 4, ...rest },
    { type: reload, id: 5, ...rest },
  ]);
  expect(onReload).toHaveBeenCalledTimes(1);
  port?.close();
});

test("without TensorBoard nobody is asked", () => {
  const post = vi.spyOn(window, "postMessage");
  followReload(() => {});
  expect(post).not.toHaveBeenCalled();
  post.mockRestore();
});
