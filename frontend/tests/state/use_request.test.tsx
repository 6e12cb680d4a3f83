import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test, vi } from "vitest";
import { useTable } from "../../src/state/use_request";
import { waitFor } from "../wait";

let seen: ReturnType<typeof useTable> | null = null;

function Probe({ op }: { op: number | null }) {
  seen = useTable("data_pipeline.queue", op === null ? null : { op });
  return null;
}

function shown(): ReturnType<typeof useTable> {
  return seen as ReturnType<typeof useTable>;
}

afterEach(() => vi.unstubAllGlobals());

test("the rows of one choice never stand for another; an error goes with its choice", async () => {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ total: 3 })));
  const root = document.body.appendChild(document.createElement("div"));
  await act(() => render(<Probe op={1} />, root));
  await waitFor(() => expect(shown().value?.total).toBe(3));
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 503 }));
  act(() => render(<Probe op={2} />, root));
  expect(shown().value).toBeNull();
  await waitFor(() => expect(shown().error?.status).toBe(503));
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ total: 4 })));
  act(() => shown().retry());
  await waitFor(() => expect(shown().value?.total).toBe(4));
  expect(shown().error).toBeNull();
  act(() => render(<Probe op={null} />, root));
  expect(shown().value).toBeNull();
});

test("a request that is no longer needed is aborted, and its end changes nothing", async () => {
  const signals: AbortSignal[] = [];
  vi.stubGlobal("fetch", (url: string, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    if (url.endsWith("op=2")) return Promise.resolve(new Response(JSON.stringify({ total: 4 })));
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => setTimeout(() => reject(signal.reason), 20)),
    );
  });
  const root = document.body.appendChild(document.createElement("div"));
  await act(() => render(<Probe op={null} />, root));
  await act(() => new Promise((resolve) => setTimeout(resolve, 20)));
  expect([signals.length, shown().error]).toEqual([0, null]);
  await act(() => render(<Probe op={1} />, root));
  await act(() => render(<Probe op={2} />, root));
  await waitFor(() => expect(shown().value?.total).toBe(4));
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
  await act(() => new Promise((resolve) => setTimeout(resolve, 50)));
  expect(shown().value?.total).toBe(4);
  act(() => render(null, root));
  expect(signals[1]?.aborted).toBe(true);
});
