// What lists have in common whose filters and pages come from the API: a filter that is typed, a page, the pager.
import * as api from "./api.js";
import * as format from "./format.js";
import { html, useEffect, useState } from "./dom.js";
import { PageBar } from "./parts.js";
import { go } from "./router.js";
import { useToasts } from "./toasts.js";

const TYPING_MS = 300;

/** A field that answers when the typing pauses. */
export function Typed({ value, onChange, ...rest }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<input type="search" value=${text} onInput=${(event) => setText(event.target.value)} ...${rest} />`;
}

/**
 * Return a function that loads a page of a list of the API, and goes to the first page of the view at `path` where the
 * `noun` before this page is gone.
 */
export function usePage(path, query, noun) {
  const say = useToasts();
  return async (from, inQuery, signal) => {
    try {
      return await api.get(from, inQuery, signal);
    } catch (error) {
      if (error.status !== 400 || !inQuery.marker) throw error;
      say(`The ${noun} before this page is gone: this is the first page.`);
      go(path, { ...query, marker: null }, { replace: true });
      return undefined;
    }
  };
}

/** Return the marker of the next page by the links of an answer; null on the last one. */
export function nextMarker(links) {
  const next = links?.find((link) => link.rel === "next");
  return next ? new URL(next.href, location.href).searchParams.get("marker") : null;
}

/** The pages of a view: `count` of a `noun` are on this one, `next` is the marker of the next one. */
export function Pager({ path, query, noun, count, next }) {
  const buttons = [
    ["First page", query.marker && (() => go(path, { ...query, marker: null }))],
    ["Previous", query.marker && history.state?.isNext && (() => history.back())],
    ["Next", next && (() => go(path, { ...query, marker: next }, { state: { isNext: true } }))],
  ];
  return html`<${PageBar} buttons=${buttons}>${query.marker ? "" : "First page, "}${format.count(count, noun)}<//>`;
}
