import type { TraceSession } from "../session";

/** Selects a slice and shows it. */
export function SliceLink({ session, id, name }: { session: TraceSession; id: number; name: string }) {
  return (
    <button type="button" class="link" onClick={() => void session.selection.select(id, "sight")}>
      {name}
    </button>
  );
}
