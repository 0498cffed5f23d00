// The actions on a server as a menu; each but the harmless ones asks first.
import { html, useEffect, useRef, useState } from "../dom.js";
import { Confirm } from "../parts.js";
import { useAllowed } from "../session.js";
import { actionsFor, carryOut } from "./actions.js";

export function ServerMenu({ server, onDone, label = "Actions", small = true }) {
  const isAllowed = useAllowed();
  const [chosen, setChosen] = useState(null);
  const menu = useRef(null);
  useClosing(menu);
  const actions = actionsFor(server, isAllowed);
  if (!actions.length) return null;
  const act = async (action) => {
    await carryOut(action, server);
    onDone(`${action.name}: accepted for ${server.name}`);
  };
  const choose = (action) => {
    menu.current.open = false;
    menu.current.querySelector("summary").focus(); // where the dialog returns the focus to
    setChosen(action);
  };
  return html`<details class="menu" ref=${menu}>
      <summary class=${`button ${small ? "small" : ""}`} aria-label=${`${label} on ${server.name}`}>${label}</summary>
      <div class="items">${actions.map((action) => html`<button type="button" class=${action.danger ? "danger" : ""}
        onClick=${() => choose(action)}>${action.name}…</button>`)}</div>
    </details>
    ${chosen && html`<${Confirm} title=${`${chosen.name}: ${server.name}?`} action=${chosen.name} danger=${chosen.danger}
      onClose=${() => setChosen(null)} onConfirm=${() => act(chosen)}>${chosen.says ?? ""}<p class="hint"><code>${server.id}</code></p><//>`}`;
}

/** Close the menu by Escape and by a click elsewhere. */
function useClosing(menu) {
  useEffect(() => {
    const close = (event) => {
      const { current } = menu;
      if (!current?.open) return;
      if (event.type === "keydown" ? event.key === "Escape" : !current.contains(event.target)) {
        current.open = false;
        if (event.type === "keydown") current.querySelector("summary").focus();
      }
    };
    addEventListener("click", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("click", close);
      removeEventListener("keydown", close);
    };
  }, []);
}
