// The frame: navigation, theme, who is logged in, and short messages.
import { html, useCallback, useEffect, useRef, useState } from "./dom.js";
import { Note, useTitle } from "./parts.js";
import { address } from "./router.js";
import { DRY_RUN, useAllowed, useSession, useViewAllowed } from "./session.js";
import { scrollBack } from "./scrolling.js";
import { Toasts } from "./toasts.js";

const VIEWS = [["fleet", "Fleet"], ["servers", "Servers"], ["claims", "Claims"], ["what-if", "What if"], ["now", "Now"]];
const BELONGS_TO = { hosts: "fleet", why: "servers", pools: "claims" };
const TOAST_MS = 8000;

export function Shell({ parts, onLogout, children }) {
  const session = useSession();
  const [toasts, setToasts] = useState([]);
  const main = useRef(null);
  const isAllowed = useAllowed();
  const mayOpen = useViewAllowed();
  const view = parts[0] ?? (mayOpen("fleet") ? "fleet" : "servers");
  const say = useCallback((text, tone = "") => {
    const toast = { text, tone, id: performance.now() };
    setToasts((all) => [...all.slice(-3), toast]);
    setTimeout(() => setToasts((all) => all.filter((each) => each !== toast)), TOAST_MS);
  }, []);
  useAnnouncedView(parts.join("/"), main);

  return html`<${Toasts.Provider} value=${say}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href=${address("/")}><${Mark} /><span>Armillary</span></a>
      <nav aria-label="Views">
        ${VIEWS.filter(([name]) => mayOpen(name)).map(([name, text]) => html`
          <a href=${address(`/${name}`)} aria-current=${(BELONGS_TO[view] ?? view) === name ? "page" : undefined}>${name === "what-if" && !isAllowed(DRY_RUN) ? "New server" : text}</a>`)}
      </nav>
      <div class="end">
        <span class="who"><b>${session.user ?? "no login"}</b>${session.project ? ` · ${session.project}` : ""}</span>
        <button class="icon-button" onClick=${() => window.toggleTheme()} aria-label="Change between light and dark" title="Light or dark">
          <svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" /><path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" /></svg>
        </button>
        ${onLogout && html`<button class="button quiet small" onClick=${async () => { const refused = await onLogout(); if (refused) say(refused, "bad"); }}>Log out</button>`}
      </div>
    </header>
    <main id="main" ref=${main} tabIndex="-1">${children}</main>
    <div class="toasts" aria-live="polite">
      ${toasts.map((toast) => html`<${Note} tone=${toast.tone} key=${toast.id}>${toast.text}<//>`)}
    </div>
  <//>`;
}

/** The mark: rings of an armillary sphere. */
export function Mark() {
  return html`<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.2" aria-hidden="true">
    <circle cx="16" cy="16" r="13" /><ellipse cx="16" cy="16" rx="13" ry="5" transform="rotate(-28 16 16)" />
    <ellipse cx="16" cy="16" rx="13" ry="5" transform="rotate(62 16 16)" /><circle cx="16" cy="16" r="2.6" fill="currentColor" stroke="none" />
  </svg>`;
}

/** Move the focus to a view that was opened, so that a screen reader reads it; not on the first one. */
function useAnnouncedView(view, main) {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return undefined;
    }
    main.current.focus({ preventScroll: true });
    return scrollBack(main.current);
  }, [view]);
}

/** Head of a view: its title, which is also the page's, what it belongs to, and its tools. */
export function Head({ title, crumb, sub, badge, children }) {
  useTitle(title);
  return html`<div class="head">
    <div class="titles">
      ${crumb && html`<div class="crumb">${crumb}</div>`}
      <h1>${title}${badge}</h1>
      ${sub && html`<div class="sub">${sub}</div>`}
    </div>
    ${children && html`<div class="tools">${children}</div>`}
  </div>`;
}
