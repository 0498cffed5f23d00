// How far a view was scrolled is kept with its entry of the history, and comes back with it.

const OWN_MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

/** Note how far the page is scrolled, before another entry of the history follows. */
export const keepScrolled = () => history.replaceState({ ...history.state, scrolled: scrollY }, "");

/**
 * Scroll to where the view of this entry of the history was left: immediately, or when the view, which may be loading,
 * is long enough. A viewer who moves the page meanwhile is left alone. Return what ends it.
 */
export function scrollBack(view) {
  const wanted = history.state?.scrolled ?? 0;
  const isThere = () => {
    scrollTo(0, wanted);
    return Math.abs(scrollY - wanted) <= 1;
  };
  if (isThere()) return () => {};
  const observer = new ResizeObserver(() => { if (isThere()) end(); });
  const end = () => {
    observer.disconnect();
    for (const kind of OWN_MOVES) removeEventListener(kind, end);
  };
  for (const kind of OWN_MOVES) addEventListener(kind, end, { passive: true });
  observer.observe(view);
  return end;
}
