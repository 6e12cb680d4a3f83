import { param, setParams } from "../../state/params";

/** Parameters that hold times of one capture and are void in another. */
type Moment = "m.range" | "m.live";

/** A time of this span from the URL; "" if absent or chosen in another span. */
export function momentParam(name: Moment, span: string): string {
  return param("m.of") === span ? param(name) : "";
}

/** Writes times of this span to the URL; removes those of another span. */
export function setMoment(span: string, changes: Partial<Record<Moment | "m.tab", string | null>>): void {
  const kept = param("m.of") === span ? {} : { "m.range": null, "m.live": null };
  setParams({ ...kept, ...changes, "m.of": span });
}
