import { afterEach, expect, test, vi } from "vitest";
import type { WorkerJson } from "../../src/api/types.gen";
import { catalog, catalogError, loadCatalog, places, workerName } from "../../src/state/catalog";

afterEach(() => {
  vi.unstubAllGlobals();
  catalog.value = catalogError.value = null;
});

const answer = (generation: number) => new Response(JSON.stringify({ generation, logdirs: [], skipped: [], runs: [] }));

test("an answer that a newer request overtook is dropped, and so is its error", async () => {
  const open: ((response: Response) => void)[] = [];
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => open.push(resolve)));
  const loads = [loadCatalog(), loadCatalog(), loadCatalog()];
  open[2]?.(answer(3));
  open[1]?.(answer(2));
  open[0]?.(new Response("{}", { status: 500 }));
  await Promise.all(loads);
  expect([catalog.value?.generation, catalogError.value]).toEqual([3, null]);
});

test("a failed load keeps the list and says why; the next scan clears the error", async () => {
  const methods: unknown[] = [];
  vi.stubGlobal("fetch", async (_url: string, options: RequestInit) => {
    methods.push(options.method);
    return methods.length === 2 ? new Response("{}", { status: 503 }) : answer(methods.length);
  });
  await loadCatalog();
  await loadCatalog();
  expect([catalog.value?.generation, catalogError.value?.status]).toEqual([1, 503]);
  await loadCatalog(true);
  expect([catalog.value?.generation, catalogError.value]).toEqual([3, null]);
  expect(methods).toEqual(["GET", "GET", "POST"]);
});

test("a span knows its run and worker", () => {
  const spans = [{ id: "s", label: "", views: [] }];
  catalog.value = {
    runs: [
      {
        id: "r",
        workers: [
          { id: "v", spans: [] },
          { id: "w", spans },
        ],
      },
    ],
  } as never;
  const found = places.value.get("s");
  expect([found?.run.id, found?.worker.id, places.value.size]).toEqual(["r", "w", 1]);
  catalog.value = null;
  expect(places.value.size).toBe(0);
});

test.each([
  [{ label: "rank 3 · host", rank: 3 }, "rank 3 · host"],
  [{ label: "", rank: 0 }, "rank 0"],
  [{ label: "", rank: null }, "w1"],
])("name of the worker %o: %s", (worker, name) => {
  expect(workerName({ id: "w1", ...worker } as WorkerJson)).toBe(name);
});
