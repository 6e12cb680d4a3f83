/** An edge that changes the size of what it belongs to. */

import { useRef, useState } from "preact/hooks";
import { readStored, store } from "../../state/storage";

const STEP = 24;

/** A size (px) that the browser keeps under a name. */
export function useStoredSize(name: string, first: number): [number, (size: number) => void] {
  const [size, setSize] = useState(() => Number(readStored(name)) || first);
  const change = (next: number) => {
    setSize(next);
    store(name, String(next));
  };
  return [size, change];
}

interface Props {
  label: string;
  class: string;
  size: number;
  least: number;
  most: number;
  /** Where the edge moves when the size grows. */
  grows: "up" | "down" | "left";
  onResize: (size: number) => void;
}

const KEYS = { up: ["ArrowUp", "ArrowDown"], down: ["ArrowDown", "ArrowUp"], left: ["ArrowLeft", "ArrowRight"] };

/** Drag it, or move it with the arrow keys. */
export function Splitter({ label, class: name, size, least, most, grows, onResize }: Props) {
  const from = useRef<{ at: number; size: number } | null>(null);
  const placeOf = ({ clientX, clientY }: PointerEvent) =>
    grows === "left" ? -clientX : grows === "up" ? -clientY : clientY;
  const resize = (next: number) => onResize(Math.round(Math.min(Math.max(next, least), most)));
  return (
    <div
      class={name}
      role="separator"
      aria-orientation={grows === "left" ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={(event) => {
        from.current = { at: placeOf(event), size };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (from.current) resize(from.current.size + placeOf(event) - from.current.at);
      }}
      onPointerUp={() => (from.current = null)}
      onPointerCancel={() => (from.current = null)}
      onKeyDown={(event) => {
        const step = KEYS[grows].indexOf(event.key);
        if (step < 0) return;
        resize(size + (step === 0 ? STEP : -STEP));
        event.preventDefault();
      }}
    />
  );
}
