// Small parts of every view: badges, notes, states of loading, times, meters, dialogs.
import { html, useEffect, useId, useRef, useState } from "./dom.js";
import * as format from "./format.js";
import { isUncertain, tookMs } from "./api.js";
import { pause, PAUSE_MS_MAX, spend } from "./pace.js";
import { useToasts } from "./toasts.js";

const TONES = {
  ACTIVE: "good", BUILD: "busy", ERROR: "bad", DELETED: "idle", SHUTOFF: "idle", VERIFY_RESIZE: "warn",
  RESIZE: "busy", REBUILD: "busy", MIGRATING: "busy", REBOOT: "busy", HARD_REBOOT: "busy", REVERT_RESIZE: "busy",
  PENDING: "busy", DELETING: "busy", UNKNOWN: "warn", RESCUE: "warn", PAUSED: "idle", SUSPENDED: "idle",
  up: "good", down: "bad", disabled: "idle", draining: "warn", enabled: "good",
  Success: "good", Error: "bad", completed: "good", confirmed: "good", finished: "good", error: "bad", failed: "bad",
};

/** A state as a word with a colour and a form of its own. */
export function Badge({ state, tone, children }) {
  const known = tone ?? TONES[state] ?? (/ing$|^pre-|^post-/.test(state ?? "") ? "busy" : "idle");
  return html`<span class="badge ${known}">${children ?? state}</span>`;
}

export function Time({ at }) {
  const date = format.dateOf(at);
  if (!date) return html`<span class="soft">–</span>`;
  return html`<time dateTime=${date.toISOString()} title=${format.zonedTime(at)}>${format.time(at)}</time>`;
}

/** How long ago a time was; the title has the time itself. */
export const Ago = ({ at }) => html`<${Relative} at=${at} tell=${format.ago} />`;

/** How long it is until a time; the title has the time itself. */
export const Until = ({ at }) => html`<${Relative} at=${at} tell=${format.until} />`;

function Relative({ at, tell }) {
  useTick(at ? 5000 : null);
  const date = format.dateOf(at);
  if (!date) return html`<span class="soft">never</span>`;
  return html`<time dateTime=${date.toISOString()} title=${format.zonedTime(at)}>${tell(at)}</time>`;
}

/** Render again from time to time. */
export function useTick(every) {
  const [, set] = useState(0);
  useEffect(() => {
    if (!every) return undefined;
    const timer = setInterval(() => set((count) => count + 1), every);
    return () => clearInterval(timer);
  }, [every]);
}

/** The head of a column that sorts: `sort` has the key of the sorted column and whether it is sorted `down`. */
export function SortHead({ name, text, class: look = "", isNumber, isDownFirst, sort, onSort }) {
  const isOwn = sort.key === name;
  return html`<th scope="col" class=${isNumber ? `number ${look}` : look} aria-sort=${isOwn ? (sort.down ? "descending" : "ascending") : undefined}>
    <button type="button" class="sort" onClick=${() => onSort({ key: name, down: isOwn ? !sort.down : Boolean(isDownFirst) })}>${text}<span aria-hidden="true">${isOwn ? (sort.down ? " ↓" : " ↑") : ""}</span></button></th>`;
}

export function Note({ tone = "", children, role }) {
  return html`<div class="note ${tone}" role=${role}><div class="grow">${children}</div></div>`;
}

export function Loading({ what = "Loading…" }) {
  return html`<p class="loading" role="status">${what}</p>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><b>${title}</b>${children}</div>`;
}

/** An error of the API with what can be done: try again, or cite the request. */
export function Failure({ error, retry }) {
  return html`<div class="note bad" role="alert">
    <div class="grow">
      <b>${error.title ?? titleOf(error)}</b>
      <div>${error.message}</div>
      ${error.requestId && html`<div class="hint">Request <code>${error.requestId}</code></div>`}
    </div>
    ${retry && html`<button class="button small" onClick=${retry}>Try again</button>`}
  </div>`;
}

const GONE = 404;

function titleOf(error) {
  if (error.status === 403) return "You may not see this.";
  if (error.status === GONE) return "Not found.";
  if (error.status === 0) return "No answer.";
  if (error.status === 429) return "Too many requests.";
  if (error.status === 503) return "Not available at the moment.";
  return "The request failed.";
}

/** How long to wait after failures in a row: services that are in trouble are not asked as often. */
const pauseAfterFailures = (every, failures, error) => Math.max(Math.min(every * 2 ** (failures - 1), PAUSE_MS_MAX), error.waitMs ?? 0);

/**
 * Load a document, again every `every` milliseconds while the page is visible, or less often where that is costly (see
 * pace.js); `every` may depend on the data. Old data stays while it is loaded. `early` are the first pauses, where more
 * than one answer is needed to begin with. `reload` loads immediately, for the user; `refresh` as soon as the pace allows.
 */
export function useLoaded(load, inputs, { every = null, early = [] } = {}) {
  const [state, set] = useState({ data: null, error: null, isLoading: true });
  const own = useRef({});
  own.current.every = every;
  useEffect(() => {
    let timer = null;
    let isGone = false;
    let isOverdue = false;
    let isAnnounced = false;
    let known;
    const controller = new AbortController();
    let asked = 0;
    let failures = 0;
    let shown = 0; // number of the request whose answer is shown: an older one may be answered later
    const run = async ({ isAgain = false } = {}) => {
      clearTimeout(timer);
      isOverdue = false;
      isAnnounced = false;
      const number = asked += 1;
      const before = tookMs(controller.signal);
      let failed = null;
      try {
        const data = await load(controller.signal);
        if (isGone || number < shown) return;
        shown = number;
        known = data ?? known;
        set((old) => ({ data: data === undefined ? old.data : data, error: null, isLoading: false }));
      } catch (error) {
        if (isGone || number < shown || error.name === "AbortError") return;
        failed = error;
        set((old) => ({ ...old, error, isLoading: false }));
      }
      if (isAgain) spend(tookMs(controller.signal) - before);
      failures = failed ? failures + 1 : 0;
      const { every: wanted } = own.current;
      const next = typeof wanted === "function" ? wanted(known) : wanted;
      if (isGone || !next) return;
      if (failed) wait(pauseAfterFailures(next, failures, failed));
      else if (isAnnounced) wait(pause(isAnnounced));
      else wait(early[number - 1] ?? Math.max(next, pause()));
    };
    const wait = (milliseconds) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const left = pause(isAnnounced); // other parts of the page may have asked meanwhile
        isOverdue = document.hidden;
        if (isOverdue) return;
        if (left > 0 && asked > early.length) wait(left);
        else run({ isAgain: true });
      }, milliseconds);
    };
    const catchUp = () => { if (isOverdue && !document.hidden) run(); }; // who comes back sees what is now
    own.current.reload = () => run();
    own.current.refresh = () => {
      isAnnounced = true;
      wait(pause(isAnnounced));
    };
    document.addEventListener("visibilitychange", catchUp);
    set((old) => ({ ...old, isLoading: true }));
    run();
    return () => {
      isGone = true;
      document.removeEventListener("visibilitychange", catchUp);
      clearTimeout(timer);
      controller.abort();
    };
  }, inputs);
  return { ...state, reload: () => own.current.reload(), refresh: () => own.current.refresh() };
}

/** Give the page the title of a view. */
export function useTitle(text) {
  useEffect(() => { document.title = `${text} – Armillary`; }, [text]);
}

/** The heading of a view that has nothing to show, or not yet. */
export function Title({ text }) {
  useTitle(text);
  return html`<div class="head"><h1>${text}</h1></div>`;
}

/**
 * Show what was loaded, or why not: an error above older data, or in their place, as where they are about something
 * that is gone. A view whose heading comes with its data has a `title` for the time before.
 */
export function Loaded({ of, title, children }) {
  if (of.data === null || of.error?.status === GONE) {
    return html`${title && html`<${Title} text=${title} />`}${of.error ? html`<${Failure} error=${of.error} retry=${of.reload} />` : html`<${Loading} />`}`;
  }
  return html`${of.error && html`<${Failure} error=${of.error} retry=${of.reload} />`}${children(of.data)}`;
}

/** One resource as a bar with its amounts; the text says all that the bar shows. */
export function Meter({ name, label = format.className(name), used, total, detail }) {
  const part = total > 0 ? used / total : 0;
  const tone = part > 1 ? "over" : part >= 0.9 ? "high" : "";
  return html`<span class="name" title=${name}>${label}</span>
    <span class="track" aria-hidden="true"><${Fill} class="fill ${tone}" part=${part} /></span>
    <span class="amount">${format.amounts(name, used, total)} · ${format.percent(part)}${detail}</span>`;
}

/** One inventory of a resource provider as a bar; `capacity` is what may be used of it. */
export function Inventory({ name, inventory }) {
  const { reserved, allocation_ratio: ratio, capacity, used } = inventory;
  const more = [ratio !== 1 && `ratio ${format.number(ratio)}`, reserved > 0 && `${format.amount(name, reserved)} reserved`].filter(Boolean);
  return html`<${Meter} name=${name} used=${used} total=${capacity} detail=${more.length ? html`<span class="hint"> (${more.join(", ")})</span>` : ""} />`;
}

/** A width that is set through the CSSOM: the page's policy allows no style in the markup. */
export function Fill({ class: name, part, left, color }) {
  const own = useRef(null);
  useEffect(() => {
    own.current.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
    if (left !== undefined) own.current.style.left = `${left * 100}%`;
    if (color !== undefined) own.current.style.background = color;
  });
  return html`<i ref=${own} class=${name}></i>`;
}

/**
 * A question before something that cannot be undone, or is costly. `onConfirm` gets the keys of its requests: what is
 * confirmed again after a failure is done once. A failure is also told after the question was closed.
 */
export function Confirm({ title, children, action, danger, onClose, onConfirm }) {
  const own = useRef(null);
  const say = useToasts();
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const isSent = useRef(false); // immediately: a second click may come before the button shows it
  const keys = useRef(new Map());
  useEffect(() => own.current.showModal(), []);
  const confirm = async (event) => {
    event.preventDefault();
    if (isSent.current) return;
    isSent.current = true;
    setBusy(true);
    try {
      await onConfirm(keys.current);
      own.current?.close(); // gives the focus back
    } catch (failed) {
      if (!own.current?.open) say(`${title} ${titleOf(failed)} ${failed.message}`, "bad");
      setError(failed);
      setBusy(false);
      isSent.current = false;
    }
  };
  return html`<dialog ref=${own} onClose=${onClose} aria-labelledby="confirm-title">
    <form onSubmit=${confirm} class="stack">
      <h2 id="confirm-title">${title}</h2>
      <div>${children}</div>
      ${error && html`<${Failure} error=${error} />`}
      ${error && isUncertain(error) && html`<p class="hint">It may have been done all the same. Once more does not do it twice.</p>`}
      <div class="buttons">
        <button type="button" class="button" onClick=${() => own.current.close()}>Cancel</button>
        <button class="button primary ${danger ? "danger" : ""}" aria-disabled=${String(isBusy)}>${action}</button>
      </div>
    </form>
  </dialog>`;
}

/** The bar below a page of a list: `buttons` are [text, what one does]; one that leads nowhere stays, and keeps the focus. */
export function PageBar({ children, buttons }) {
  return html`<div class="pager" role="group" aria-label="Pages"><span>${children}</span><span class="gap"></span>
    ${buttons.map(([text, act]) => html`<button type="button" class="button small" aria-disabled=${String(!act)} onClick=${() => act && act()}>${text}</button>`)}</div>`;
}

/** Buttons of which one is pressed. */
export function Segments({ label, options, value, onChange }) {
  return html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(([key, text]) => html`<button type="button" aria-pressed=${String(key === value)} onClick=${() => onChange(key)}>${text}</button>`)}
  </div>`;
}

/** A control with its label; `error` is the id of the message that says what is wrong with it. */
export function Field({ label, hint, wide, error, children }) {
  const own = useRef(null);
  const hintId = useId();
  useEffect(() => {
    const control = own.current.querySelector("input, select");
    const about = [hint && hintId, error].filter(Boolean).join(" ");
    if (about) control?.setAttribute("aria-describedby", about);
    else control?.removeAttribute("aria-describedby");
    control?.setAttribute("aria-invalid", String(Boolean(error)));
  });
  return html`<div class="field ${wide ? "wide" : ""}" ref=${own}><label><span>${label}</span>${children}</label>${hint && html`<span class="hint" id=${hintId}>${hint}</span>`}</div>`;
}

export function Select({ value, onChange, options, ...rest }) {
  return html`<select value=${value} onChange=${(event) => onChange(event.target.value)} ...${rest}>
    ${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}
  </select>`;
}

/** The first part of a UUID, with the whole in its title. */
export function ShortId({ id }) {
  return html`<code title=${id}>${(id ?? "").slice(0, 8)}</code>`;
}
