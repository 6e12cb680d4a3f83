import { param, setParams } from "../../state/params";

/** Parameters that are moments of one capture: of another one they would mean nothing. */
type Moment = "m.range" | "m.live";

/** A moment of this span from the URL; "" where there is none, or where it was chosen in another span. */
export function momentParam(name: Moment, span: string): string {
  return param("m.of") === span ? param(name) : "";
}

/** Write down moments of this span; those of another span end. */
export function setMoment(span: string, changes: Partial<Record<Moment | "m.tab", string | null>>): void {
  const kept = param("m.of") === span ? {} : { "m.range": null, "m.live": null };
  setParams({ ...kept, ...changes, "m.of": span });
}
