// Addresses of the views: a path below /ui/ and a query, both in the browser's history.
import { useEffect, useState } from "./dom.js";
import { keepScrolled } from "./scrolling.js";

const ROOT = "/ui";
const CHANGED = "armillary-navigate";

/** Return the address of a view; `null` and empty values of the query are left out. */
export function address(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `${ROOT}${path}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`;
}

/** Return the address of a host's view. */
export const hostAddress = (name) => address(`/hosts/${encodeURIComponent(name)}`);

/**
 * Go to a view; `replace` keeps the way back as it is, as for a filter that is being typed. `state` is kept with
 * the entry of the history, and not in the address.
 */
export function go(path, query, { replace = false, state = null } = {}) {
  if (!replace) keepScrolled();
  history[replace ? "replaceState" : "pushState"](state, "", address(path, query));
  dispatchEvent(new Event(CHANGED));
}

/** Return the path below /ui and the query, and follow their changes. */
export function useAddress() {
  const [found, set] = useState(current);
  useEffect(() => {
    const follow = () => set(current());
    addEventListener("popstate", follow);
    addEventListener(CHANGED, follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener(CHANGED, follow);
    };
  }, []);
  return found;
}

/** Let links within the console change the view without loading the page. */
export function followLinks(event) {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
  if (!link || !isPlain || link.target || event.defaultPrevented) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(`${ROOT}/`)) return;
  event.preventDefault();
  if (link.href !== location.href) {
    keepScrolled();
    history.pushState(null, "", link.href);
  }
  dispatchEvent(new Event(CHANGED));
}

function current() {
  const path = location.pathname.slice(ROOT.length).replace(/\/+$/, "");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(location.search)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
