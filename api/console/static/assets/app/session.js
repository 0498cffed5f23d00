// Who is logged in, and what he may do.
import { createContext, useContext } from "./dom.js";

export const Session = createContext(null);

/** Return the session: user, project, roles, is_admin, allowed. */
export const useSession = () => useContext(Session);

/** Return a function that says whether a policy rule allows the caller something. */
export function useAllowed() {
  const { allowed = {}, is_admin: isAdmin } = useSession();
  return (rule) => allowed[rule] ?? Boolean(isAdmin);
}
