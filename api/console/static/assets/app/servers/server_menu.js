// The actions on a server as a menu; each asks first.
import * as api from "../api.js";
import * as format from "../format.js";
import { html, useEffect, useRef, useState } from "../dom.js";
import { Confirm, Field, Loaded, Select, useLoaded } from "../parts.js";
import { useAllowed } from "../session.js";
import { actionsFor, carryOut } from "./actions.js";

const FLAVORS_MAX = 1000;
const GAP_PX = 4; // between button and menu, and to the edge of the window
const placedAt = new WeakMap(); // menu -> where its button was when it was placed

/** `known` is what is known besides the server: hostState, migrations. */
export function ServerMenu({ server, known, onDone, label = "Actions", small = true }) {
  const isAllowed = useAllowed();
  const [chosen, setChosen] = useState(null);
  const [choice, setChoice] = useState(null);
  const menu = useRef(null);
  useClosing(menu);
  const actions = actionsFor(server, isAllowed, known);
  if (!actions.length) return null;
  const act = async (action, keys) => {
    await carryOut(action, server, keys, { ...known, choice });
    onDone(`${action.name}: accepted for ${server.name ?? server.id}`, action);
  };
  const choose = (action) => {
    menu.current.open = false;
    menu.current.querySelector("summary").focus(); // where the dialog returns the focus to
    setChosen(action);
  };
  return html`<details class="menu" ref=${menu} onToggle=${() => place(menu.current)}>
      <summary class=${`button ${small ? "small" : ""}`} aria-label=${`${label} on ${server.name ?? server.id}`}>${label}</summary>
      <div class="items">${actions.map((action) => html`<button type="button" key=${action.name} class=${action.danger ? "danger" : ""}
        onClick=${() => choose(action)}>${action.name}…</button>`)}</div>
    </details>
    ${chosen && html`<${Confirm} title=${`${chosen.name}: ${server.name ?? server.id}?`} action=${chosen.name} danger=${chosen.danger}
      onClose=${() => setChosen(null)} onConfirm=${(keys) => act(chosen, keys)}>${chosen.says}
      ${chosen.asks === "flavor" && html`<${FlavorChoice} server=${server} value=${choice} onChange=${setChoice} />`}
      <p class="hint"><code>${server.id}</code></p><//>`}`;
}

/** Put the items under the button, or above it where there is no room; a table that scrolls would cut them off. */
function place(menu) {
  if (!menu?.open) { placedAt.delete(menu); return; }
  const button = menu.querySelector("summary").getBoundingClientRect();
  const items = menu.querySelector(".items");
  const { offsetWidth: width, offsetHeight: height } = items;
  const below = button.bottom + GAP_PX;
  const top = below + height + GAP_PX <= innerHeight ? below : Math.max(GAP_PX, button.top - GAP_PX - height);
  items.style.top = `${top}px`;
  items.style.left = `${Math.max(GAP_PX, Math.min(button.right, innerWidth - GAP_PX) - width)}px`;
  items.style.maxHeight = `${innerHeight - 2 * GAP_PX}px`;
  placedAt.set(menu, button.top + button.left);
}

/** Whether the button has moved since its menu was placed: the event of an earlier scroll may come after the menu is opened. */
function hasMoved(menu) {
  const { top, left } = menu.querySelector("summary").getBoundingClientRect();
  return placedAt.has(menu) && top + left !== placedAt.get(menu);
}

/** The flavors that a server can be resized to. */
function FlavorChoice({ server, value, onChange }) {
  const loaded = useLoaded((signal) => api.get("/flavors/detail", { limit: FLAVORS_MAX }, signal), []);
  const own = server.flavor?.original_name;
  const flavors = (loaded.data?.flavors ?? []).filter((each) => each.name !== own);
  const first = flavors[0]?.id ?? null;
  useEffect(() => { if (loaded.data && !flavors.some((each) => each.id === value)) onChange(first); }, [loaded.data]);
  return html`<${Loaded} of=${loaded}>${() => html`<${Field} label="New flavor" hint=${own ? `It has the flavor ${own} now.` : null}>
    <${Select} value=${value} onChange=${onChange} required options=${flavors.map((each) => [each.id, format.flavor(each)])} /><//>`}<//>`;
}

/** Close the menu by Escape, by a click elsewhere, and where it would stay behind: when the page scrolls or changes its size. */
function useClosing(menu) {
  useEffect(() => {
    const close = (event) => {
      const { current } = menu;
      if (!current?.open) return;
      if (event.type === "scroll" && !hasMoved(current)) return;
      const isOutside = event.target === document || event.target === window || !current.contains(event.target);
      if (event.type === "keydown" ? event.key !== "Escape" : !isOutside) return;
      current.open = false;
      if (event.type === "keydown") current.querySelector("summary").focus();
    };
    const kinds = ["click", "keydown", "scroll", "resize"];
    for (const kind of kinds) addEventListener(kind, close, { capture: kind === "scroll" });
    return () => { for (const kind of kinds) removeEventListener(kind, close, { capture: kind === "scroll" }); };
  }, []);
}
