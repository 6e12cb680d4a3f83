import { useEffect, useRef, useState } from "preact/hooks";

/** The value, changing at most once in so many ms; 0: at once. The last change always comes through. */
export function useCalm<T>(value: T, ms: number): T {
  const [calm, setCalm] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    if (ms === 0 || value === calm) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        setCalm(value);
      },
      Math.max(0, last.current + ms - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [value, calm, ms]);
  return ms === 0 ? value : calm;
}
