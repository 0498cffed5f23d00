// Hosts by their names: a link for those who may open the view of a host.
import { html } from "./dom.js";
import { hostAddress } from "./router.js";
import { useViewAllowed } from "./session.js";

/**
 * Return a function that shows a host by its name; who may not see names reads "a host". A host of another `zone` is
 * that deployment's to show.
 */
export function useHostName() {
  const mayOpen = useViewAllowed();
  return (name, { none = "a host", zone = null } = {}) => {
    if (zone) return `${name ?? none} (zone ${zone})`;
    if (!name) return none;
    const isElsewhere = name.includes(":"); // a decision names a host of another zone ZONE:NODE
    return mayOpen("hosts") && !isElsewhere ? html`<a href=${hostAddress(name)}>${name}</a>` : name;
  };
}

/** A host by its name; `none` is shown where there is none. */
export function HostLink({ name, zone, none = "–" }) {
  return html`${useHostName()(name, { none, zone })}`;
}
