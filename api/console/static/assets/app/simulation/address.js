// What is shown of a simulation, in the part of the address behind the "#": the page may be a file, which has no other.
import { useCallback, useEffect, useState } from "../dom.js";

const SETTLED_MS = 200; // browsers refuse to change the address for each step of a slider

/** Return the values of the address, and a function that changes some of them; null takes one out. */
export function useAddressed() {
  const [values, set] = useState(current);
  useEffect(() => {
    const follow = () => set(current());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      const text = new URLSearchParams(values).toString();
      if (text !== new URLSearchParams(current()).toString()) history.replaceState(null, "", `#${text}`);
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [values]);
  const change = useCallback((more) => set((old) => (
    Object.fromEntries(Object.entries({ ...old, ...more }).filter(([, value]) => value !== null && value !== undefined))
  )), []);
  return [values, change];
}

const current = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
