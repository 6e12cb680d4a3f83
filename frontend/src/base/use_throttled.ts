import { useEffect, useRef, useState } from "preact/hooks";

/** The value, changing at most once per `ms`; 0: without delay. The last change always arrives. */
export function useThrottled<T>(value: T, ms: number): T {
  const [throttled, setThrottled] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    if (ms === 0 || value === throttled) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        setThrottled(value);
      },
      Math.max(0, last.current + ms - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [value, throttled, ms]);
  return ms === 0 ? value : throttled;
}
