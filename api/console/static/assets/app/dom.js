// The one place that names the rendering library: Preact with htm instead of a compiled JSX.
export {
  html,
  render,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact.js";
