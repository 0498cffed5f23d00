// Who is logged in, and what he may do.
import { createContext, useContext } from "./dom.js";

export const Session = createContext(null);

/** Return the session: user, project, roles, is_admin, allowed. */
export const useSession = () => useContext(Session);

export const DRY_RUN = "os_compute_api:armillary:dry-run";
export const CREATE = "os_compute_api:servers:create";
export const BY_HOST = "os_compute_api:servers:allow_all_filters";
export const CLAIMS = "os_compute_api:armillary:claims:index";
/** View -> policy rules of which it needs one; the others are for everybody. */
const RULES = {
  __proto__: null, // an address may have any word
  fleet: ["os_compute_api:armillary:fleet:list"], hosts: ["os_compute_api:armillary:fleet:show_host"],
  now: ["os_compute_api:armillary:now"], "what-if": [DRY_RUN, CREATE],
  why: ["os_compute_api:armillary:explain"], claims: [CLAIMS], pools: ["os_compute_api:armillary:pools:index"],
};

const SEEN = "armillary-fleet"; // as in start.js

/** Remember whether this browser's user sees the fleet, so that its next visit asks for it immediately. */
export function rememberFleet(session) {
  try {
    if (session?.allowed?.[RULES.fleet[0]]) localStorage.setItem(SEEN, "seen");
    else localStorage.removeItem(SEEN);
  } catch {
    // storage may be forbidden: the fleet is then asked for when the session is known
  }
}

/** Return a function that says whether the caller may open a view. */
export function useViewAllowed() {
  const isAllowed = useAllowed();
  return (view) => !RULES[view] || RULES[view].some(isAllowed);
}

/** Return a function that says whether a policy rule allows the caller something. */
export function useAllowed() {
  const { allowed = {}, is_admin: isAdmin } = useSession();
  return (rule) => allowed[rule] ?? Boolean(isAdmin);
}
