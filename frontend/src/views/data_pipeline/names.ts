import type { PipelineOp } from "../../api/types.gen";

/** Name of an operator in MindSpore's notation. */
export function nameOf({ name, op_id }: PipelineOp): string {
  return `${name.replace(/Op$/, "")}(id=${op_id})`;
}

/**
 * The operators in columns, by the longest path from a source. Operators in a cycle (damaged file) are in the first
 * column.
 */
export function columnsOf(operators: readonly PipelineOp[]): PipelineOp[][] {
  const depth = new Map<number, number>();
  const byId = new Map(operators.map((op) => [op.op_id, op]));
  const depthOf = (op: PipelineOp, seen: ReadonlySet<number>): number => {
    const known = depth.get(op.op_id);
    if (known !== undefined) return known;
    const parent = op.parent_id === null ? undefined : byId.get(op.parent_id);
    const found = parent && !seen.has(parent.op_id) ? depthOf(parent, new Set([...seen, op.op_id])) + 1 : 0;
    depth.set(op.op_id, found);
    return found;
  };
  for (const op of operators) depthOf(op, new Set([op.op_id]));
  const columns: PipelineOp[][] = [];
  for (const op of operators) {
    const at = depth.get(op.op_id) ?? 0;
    columns[at] = [...(columns[at] ?? []), op];
  }
  return columns.filter((column) => column !== undefined).reverse();
}
