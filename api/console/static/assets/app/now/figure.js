// One figure with a small chart of its last minutes.
import * as format from "../format.js";
import { html, needStyle, useEffect, useRef, useState } from "../dom.js";

await needStyle("../../vendor/uplot.css", import.meta.url);

/** Steps between the marks of an axis, whose numbers are counts or percent. */
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const SHORTEST_SECONDS = 60; // a small chart begins at its right end and grows to the left

export function Figure({ title, unit, times, values }) {
  const now = values.at(-1);
  return html`<div class="figure"><dt>${title}</dt>
    <dd>${now === null || now === undefined ? "–" : format.number(now)} <small>${unit}</small>
    <${Chart} times=${times} series=${[{ label: title, values }]} /></dd></div>`;
}

/** A chart by uPlot, which is loaded when the first one is shown. `big` has axes. */
export function Chart({ times, series, big = false, height = 54, label = null, suffix = "" }) {
  const box = useRef(null);
  const own = useRef(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const follow = () => setTheme((count) => count + 1);
    addEventListener("themechange", follow);
    return () => removeEventListener("themechange", follow);
  }, []);
  useEffect(() => {
    let isGone = false;
    import("../../vendor/uplot.js").then(({ default: Plot }) => {
      if (isGone || !box.current) return;
      own.current = new Plot(optionsOf({ series, big, height, suffix, width: box.current.clientWidth }), dataOf(times, series), box.current);
    }, () => {}); // without the library there is no chart; the figures are there
    const observer = new ResizeObserver(() => own.current?.setSize({ width: box.current.clientWidth, height }));
    observer.observe(box.current);
    return () => {
      isGone = true;
      observer.disconnect();
      own.current?.destroy();
      own.current = null;
    };
  }, [theme, series.length, big]);
  useEffect(() => { own.current?.setData(dataOf(times, series)); });
  return html`<div class=${big ? "big-chart" : "chart"} ref=${box} role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"}></div>`;
}

/** Return the columns of a chart. A single sample has no range of time of its own: it is at the right end of the shortest one. */
function dataOf(times, series) {
  const values = series.map((each) => each.values);
  if (times.length !== 1) return [times, ...values];
  return [[times[0] - SHORTEST_SECONDS, times[0]], ...values.map(([only]) => [null, only])];
}

/** A big chart has simulated seconds on its axis; a small one has no axes. */
function optionsOf({ series, big, height, suffix, width }) {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: of("soft"), grid: { stroke: of("line"), width: 1 }, ticks: { stroke: of("line"), width: 1 }, font: "11px system-ui" };
  const incrs = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800]; // seconds people count in
  const elapsed = (plot, ticks) => ticks.map((each) => (each < 0 ? "" : format.duration(each)));
  const values = (plot, ticks) => ticks.map((each) => `${format.number(each)}${suffix}`);
  return {
    width, height, pxAlign: 0, legend: { show: big }, cursor: { show: big, drag: { x: false, y: false } },
    scales: { x: big ? { time: false } : { time: true, range: (plot, first, last) => [Math.min(first, last - SHORTEST_SECONDS), last] }, y: { range: (plot, low, high) => [0, Math.max(high * 1.15, 1)] } },
    axes: big ? [{ ...axis, incrs, values: elapsed }, { ...axis, size: 54, values, incrs: WHOLE_STEPS }] : [{ show: false }, { show: false }],
    series: [
      { label: "Time", value: (plot, value) => (value === null ? "" : format.duration(value)) },
      ...series.map((each, index) => ({
        label: each.label, stroke: of(`series-${(each.colour ?? index) + 1}`), width: 1.5, dash: each.dash,
        points: { show: (plot, at) => plot.data[at].length === 2 && plot.data[at][0] === null, size: 5 }, // a line has two
        fill: big ? undefined : `${of("series-1")}22`, value: (plot, value) => (value === null ? "–" : `${format.number(value)}${suffix}`),
      })),
    ],
  };
}
