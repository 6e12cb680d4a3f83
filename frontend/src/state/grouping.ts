import { effect } from "@preact/signals";
import { setCommonQuery } from "../api/client";
import type { RunJson } from "../api/types.gen";
import { loadCatalog } from "./catalog";
import { param, setParams } from "./params";

/**
 * The runs that the user joined and split, in the URL: `join` holds groups of ids ("r1.r2,r3.r4"), `split` ids
 * ("r1.r2"). Every request names them.
 */
const groupsOf = (text: string) => text.split(",").filter((group) => group !== "");
const idsOf = (text: string) => text.split(".").filter((id) => id !== "");

/** True if the user joined or split runs. Subscribes the calling component. */
export function isGrouped(): boolean {
  return param("join") !== "" || param("split") !== "";
}

/** The groups without those that hold a folder of these runs. */
function othersOf(runs: readonly RunJson[]): string[] {
  const own = new Set(runs.flatMap((run) => run.folders.map(({ id }) => id)));
  return groupsOf(param("join")).filter((group) => !idsOf(group).some((id) => own.has(id)));
}

/** Makes one run of several. */
export function joinRuns(runs: readonly RunJson[]): void {
  const ids = new Set(runs.flatMap((run) => run.folders.map(({ id }) => id)));
  setParams({ join: [...othersOf(runs), [...ids].join(".")].join(",") }, true);
}

/** Makes a run of each folder of a run. */
export function splitRun(run: RunJson): void {
  const others = othersOf([run]);
  const isChosen = others.length < groupsOf(param("join")).length;
  const split = isChosen ? param("split") : [...idsOf(param("split")), run.id].join(".");
  setParams({ join: others.join(","), split }, true);
}

/** Goes back to the runs that the scan found. */
export function ungroup(): void {
  setParams({ join: null, split: null }, true);
}

/** Names the choice in all requests, and loads the catalog again when it changes. Returns a function that stops it. */
export function followGrouping(): () => void {
  let before: string | null = null;
  return effect(() => {
    const [join, split] = [param("join"), param("split")];
    setCommonQuery({ join: groupsOf(join), split: idsOf(split) });
    const now = `${join} ${split}`;
    if (before !== null && before !== now) void loadCatalog();
    before = now;
  });
}
