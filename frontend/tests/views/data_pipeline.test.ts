import { describe, expect, it } from "vitest";
import type { PipelineOp, TableJson } from "../../src/api/types.gen";
import { findingText } from "../../src/views/data_pipeline";
import { columnsOf, nameOf } from "../../src/views/data_pipeline/graph";
import { queueSeries } from "../../src/views/data_pipeline/queue";

const UNKNOWN = { children: [], workers: null, capacity: null, average: null, usage: null, input_usage: null };
const op = (op_id: number, name: string, parent_id: number | null): PipelineOp => ({
  ...UNKNOWN,
  op_id,
  name,
  parent_id,
  empty: null,
  cpu: null,
  score: null,
});

describe("columnsOf", () => {
  it("goes from the sources to the end", () => {
    const columns = columnsOf([op(0, "BatchOp", null), op(1, "Map", 0), op(2, "TFReader", 1), op(3, "TFReader", 1)]);
    expect(columns.map((column) => column.map(nameOf))).toEqual([
      ["TFReader(id=2)", "TFReader(id=3)"],
      ["Map(id=1)"],
      ["Batch(id=0)"],
    ]);
  });

  it("ends for operators that go in circles", () => {
    expect(columnsOf([op(0, "Map", 1), op(1, "Map", 0)]).flat()).toHaveLength(2);
  });
});

describe("queueSeries", () => {
  const data = {
    queue: ["device", "host", "host", null],
    batch: [1, 2, 1, 3],
    size: [4, 0, null, 9],
    capacity: [8, null, 16, 1],
    get_ns: [10, 30, 50, 1],
    push_ns: [null, 2, 4, 1],
    total_ns: [10, 32, 54, 1],
  };
  const table: TableJson = {
    id: "batches",
    columns: [],
    data,
    offset: 0,
    rows: 4,
    total: 4,
    sort: "batch",
    desc: false,
  };

  it("tells the queues apart, by batch, host first", () => {
    const [host, device] = queueSeries(table);
    expect(host).toEqual({
      queue: "host",
      batch: [1, 2],
      size: [null, 0],
      capacity: 16,
      average: 0,
      get: 40,
      push: 3,
      total: 43,
    });
    expect(device).toMatchObject({ queue: "device", size: [4], average: 4, push: null });
  });
});

describe("findingText", () => {
  it("has words of its own for some operators, and percents", () => {
    const map = op(1, "MapOp", 0);
    const text = (rule: "held_up" | "busy_workers", value: number) =>
      findingText({ rule, op_id: 1, value, limit: 0.1 }, [map]);
    expect(text("held_up", 0.87)).toContain("Map(id=1) is the bottleneck: its input queue is 87.0 % fuller");
    expect(text("held_up", 0.87)).toContain("python_multiprocessing");
    expect(text("busy_workers", 92)).toContain("each worker uses 92.0 % of a core");
  });
});
