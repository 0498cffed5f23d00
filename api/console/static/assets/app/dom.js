// The one place that names the rendering library: Preact with htm instead of a compiled JSX.
export {
  html,
  render,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact.js";
import { useRef } from "../vendor/preact.js";

let ids = 0;

/** Return an id for an element, which no other one in the page has. */
export function useId() {
  const own = useRef(null);
  own.current ??= `part-${ids += 1}`;
  return own.current;
}

/**
 * Load a style sheet that only some views need, given by its path from the module whose `import.meta.url` is `base`;
 * the page of a simulation, whose modules are in the page, has all of them.
 */
export function needStyle(path, base) {
  if (base.startsWith("data:")) return Promise.resolve();
  return new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL(path, base).href, onload: done, onerror: done });
    document.head.append(link);
  });
}
