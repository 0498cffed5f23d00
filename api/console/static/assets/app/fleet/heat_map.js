// The heat map: one cell a host on a canvas that pans and zooms; the fleet and the simulations show it.
import { html, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../dom.js";
import { CELL_PX, layOut, placesOf, rowAt } from "./layout.js";
import { coloursOf, looksOf, paint, Pictures } from "./painter.js";

const ZOOM_MAX = 240; // pixels a cell
const STEP = 1.25;
const MARGIN = 10; // pixels around the map
const DRAG = 4; // pixels after which a press is a pan, not a click
const SETTLED_MS = 300; // without a move, after which the part that is shown is told
/** Edge -> its sign, and the direction in which the map moves to show what is beyond it. */
const EDGES = { left: ["←", 1, 0], up: ["↑", 0, 1], right: ["→", -1, 0], down: ["↓", 0, -1] };

/**
 * `groups` are those of hosts.js. `describe` returns what the tip says about a row; `onOpen`, null where hosts have no
 * view, is called with the row that was clicked, or chosen by the keyboard. `part` is what is shown of the map:
 * {at, zoom}, the host in the middle and the pixels of a cell, or null for all of it; `onPart` is told when that has changed.
 */
export function HeatMap({ hosts, groups, resourceClass, describe, onOpen = null, label, part = null, onPart = () => {} }) {
  const canvas = useRef(null);
  const box = useRef(null);
  const [size, setSize] = useState(null);
  const [theme, setTheme] = useState(0);
  const [hovered, setHovered] = useState(-1);
  const [pointer, setPointer] = useState(null);
  const map = useRef({ view: null, frame: 0, hovered: -1 });

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      if (width && height) setSize({ width: Math.round(width), height: Math.round(height) });
    });
    observer.observe(box.current);
    const follow = () => setTheme((count) => count + 1);
    addEventListener("themechange", follow);
    return () => {
      observer.disconnect();
      removeEventListener("themechange", follow);
    };
  }, []);

  const layout = useMemo(() => (size ? layOut(groups, { width: size.width - 2 * MARGIN, height: size.height - 2 * MARGIN }) : null), [groups, size]);
  const looks = useMemo(() => looksOf(hosts, resourceClass), [hosts, resourceClass]);
  const colours = useMemo(() => (size ? coloursOf(document.documentElement) : null), [theme, Boolean(size)]);
  const pictures = useMemo(() => (colours ? new Pictures(looks.looks, looks.full, colours) : null), [looks, colours]);

  const draw = () => {
    const own = map.current;
    if (own.frame) return;
    own.frame = requestAnimationFrame(() => {
      own.frame = 0;
      const { current } = canvas;
      if (!current || !own.paint) return;
      own.paint(current);
    });
  };
  map.current.paint = layout && ((current) => {
    const ratio = devicePixelRatio || 1;
    const { width, height } = size;
    if (current.width !== Math.round(width * ratio) || current.height !== Math.round(height * ratio)) {
      current.width = Math.round(width * ratio);
      current.height = Math.round(height * ratio);
    }
    const context = current.getContext("2d", { alpha: false });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, {
      layout, ...looks, names: hosts.name, view: map.current.view, width, height, colours,
      hovered: map.current.hovered, pictures,
    });
  });

  // A new layout is shown as the address says; new figures keep the part that is looked at.
  const shown = part ? `${part.zoom} ${part.at}` : "";
  useLayoutEffect(() => {
    if (!layout) return;
    const own = map.current;
    if (!own.view || own.told !== shown || !areAlike(own.layout, layout) || own.size !== size) {
      own.view = viewOf(part, hosts, layout, size) ?? wholeOf(layout, size);
    }
    Object.assign(own, { layout, size, told: shown });
    draw();
  }, [layout, size, shown]);
  map.current.tell = () => {
    const now = partOf(map.current.view, hosts, layout, size);
    map.current.told = now ? `${now.zoom} ${now.at}` : "";
    onPart(now);
  };
  const tell = () => {
    clearTimeout(map.current.settling);
    map.current.settling = setTimeout(() => map.current.tell(), SETTLED_MS);
  };
  useEffect(() => () => clearTimeout(map.current.settling), []);
  useEffect(() => { if (map.current.view) draw(); }, [looks, colours, hosts]);
  useEffect(() => () => cancelAnimationFrame(map.current.frame), []);

  const hover = (row, at) => {
    if (row !== map.current.hovered) {
      map.current.hovered = row;
      setHovered(row);
      draw();
    }
    setPointer(at);
  };
  const zoom = (factor, x, y) => {
    const { view } = map.current;
    const least = wholeOf(layout, size).scale * 0.9;
    const scale = Math.min(ZOOM_MAX, Math.max(least, view.scale * factor));
    map.current.view = bounded({ x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale, scale }, layout, size);
    draw();
    tell();
  };
  const pan = (x, y) => {
    const { view } = map.current;
    map.current.view = bounded({ ...view, x: view.x - x / view.scale, y: view.y - y / view.scale }, layout, size);
    draw();
    tell();
  };
  const whole = () => {
    map.current.view = wholeOf(layout, size);
    draw();
    tell();
  };
  const pointers = usePointers({ canvas, map, layout, pan, zoom, hover, onOpen });
  const keys = useKeys({ map, layout, size, zoom, pan, whole, hover, onOpen });
  useWheel(canvas, (factor, x, y) => layout && zoom(factor, x, y));

  const middle = () => [size.width / 2, size.height / 2];
  const help = useId();
  return html`<div class="heat-map" ref=${box}>
    <canvas ref=${canvas} tabIndex="0" role="application" aria-label=${label}
      aria-roledescription="heat map" aria-describedby=${help} ...${pointers} onKeyDown=${keys}></canvas>
    <span id=${help} class="only-read">Arrow keys go from host to host, ${onOpen && "Enter opens one, "}plus and minus zoom, 0 shows all.${onOpen && " The table has the same hosts."}</span>
    <div class="zoom" role="group" aria-label="Zoom">
      <button type="button" class="icon-button" aria-label="Zoom in" onClick=${() => zoom(STEP * STEP, ...middle())}>+</button>
      <button type="button" class="icon-button" aria-label="Zoom out" onClick=${() => zoom(1 / STEP / STEP, ...middle())}>−</button>
      <button type="button" class="icon-button" aria-label="Show all" onClick=${whole}>⤢</button>
    </div>
    ${part && html`<div role="group" aria-label="Move the map">${Object.entries(EDGES).map(([edge, [sign, x, y]]) => html`
      <button type="button" class="icon-button edge ${edge}" aria-label=${`Move ${edge}`} onClick=${() => pan(x * size.width / 3, y * size.height / 3)}>${sign}</button>`)}</div>`}
    <${Tip} text=${hovered >= 0 && hovered < hosts.count ? describe(hovered) : null} at=${pointer} size=${size} />
  </div>`;
}

function wholeOf(layout, { width, height }) {
  const scale = Math.min((width - 2 * MARGIN) / layout.width, (height - 2 * MARGIN) / layout.height, CELL_PX);
  return { x: -MARGIN / scale, y: -MARGIN / scale, scale };
}

/** Return whether two layouts have their blocks at the same places. */
function areAlike(one, other) {
  const isSame = (block, index) => ["name", "x", "y", "columns", "lines"].every((key) => block[key] === other.blocks[index][key]);
  return one.blocks.length === other.blocks.length && one.blocks.every(isSame);
}

/** Return the view of a part of the map; undefined where its host is not on it. */
function viewOf(part, hosts, layout, { width, height }) {
  const scale = Math.min(ZOOM_MAX, Number(part?.zoom));
  const place = scale > 0 ? placesOf(layout).get(hosts.name.indexOf(part.at)) : undefined;
  return place && bounded({ scale, x: place.x + 0.5 - width / scale / 2, y: place.y + 0.5 - height / scale / 2 }, layout, { width, height });
}

/** Return the part that a view shows: the host nearest to its middle, and the pixels of a cell; null for all. */
function partOf(view, hosts, layout, { width, height }) {
  const whole = wholeOf(layout, { width, height });
  if (["x", "y", "scale"].every((key) => Math.abs(view[key] - whole[key]) < 0.01)) return null;
  const [x, y] = [view.x + width / view.scale / 2 - 0.5, view.y + height / view.scale / 2 - 0.5];
  let nearest = { row: -1, distance: Infinity };
  for (const [row, place] of placesOf(layout)) {
    const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
    if (distance < nearest.distance) nearest = { row, distance };
  }
  return { at: hosts.name[nearest.row], zoom: String(Math.round(view.scale * 10) / 10) };
}

/** Keep some of the map in sight. */
function bounded(view, layout, { width, height }) {
  const keep = 60 / view.scale;
  return {
    scale: view.scale,
    x: Math.min(layout.width - keep, Math.max(keep - width / view.scale, view.x)),
    y: Math.min(layout.height - keep, Math.max(keep - height / view.scale, view.y)),
  };
}

/** One finger or the mouse pans, two fingers zoom, a press without a move opens. */
function usePointers({ canvas, map, layout, pan, zoom, hover, onOpen }) {
  const pressed = useRef(new Map());
  const rowOf = (event) => {
    const { view } = map.current;
    return view ? rowAt(layout, view.x + event.offsetX / view.scale, view.y + event.offsetY / view.scale) : -1;
  };
  return {
    onPointerDown: (event) => {
      canvas.current.setPointerCapture(event.pointerId);
      pressed.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY, moved: 0 });
    },
    onPointerMove: (event) => {
      const own = pressed.current.get(event.pointerId);
      if (!layout) return;
      if (!own) {
        hover(rowOf(event), { x: event.offsetX, y: event.offsetY });
        return;
      }
      const [x, y] = [event.offsetX - own.x, event.offsetY - own.y];
      own.moved += Math.hypot(x, y);
      const other = [...pressed.current.values()].find((each) => each !== own);
      if (other) {
        const before = Math.hypot(own.x - other.x, own.y - other.y);
        const after = Math.hypot(event.offsetX - other.x, event.offsetY - other.y);
        if (before > 0) zoom(after / before, (event.offsetX + other.x) / 2, (event.offsetY + other.y) / 2);
      } else if (own.moved > DRAG) {
        hover(-1, null);
        pan(x, y);
      }
      Object.assign(own, { x: event.offsetX, y: event.offsetY });
    },
    onPointerUp: (event) => {
      const own = pressed.current.get(event.pointerId);
      pressed.current.delete(event.pointerId);
      if (own && own.moved <= DRAG && layout) {
        const row = rowOf(event);
        if (row >= 0) onOpen?.(row);
      }
    },
    onPointerCancel: (event) => pressed.current.delete(event.pointerId),
    onPointerLeave: () => hover(-1, null),
    onBlur: () => hover(-1, null),
  };
}

function useKeys({ map, layout, size, zoom, pan, whole, hover, onOpen }) {
  return (event) => {
    if (!layout || event.metaKey || event.ctrlKey || event.altKey) return;
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const acts = {
      "+": () => zoom(STEP, size.width / 2, size.height / 2), "=": () => zoom(STEP, size.width / 2, size.height / 2),
      "-": () => zoom(1 / STEP, size.width / 2, size.height / 2), 0: whole,
      Enter: () => map.current.hovered >= 0 && onOpen?.(map.current.hovered), Escape: () => hover(-1, null),
    };
    const act = moves[event.key] ? () => step(...moves[event.key]) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  function step(columns, lines) {
    const places = placesOf(layout);
    const row = neighbour(layout, places, map.current.hovered, columns, lines);
    const { x, y } = places.get(row);
    const { view } = map.current;
    const at = { x: (x + 0.5 - view.x) * view.scale, y: (y + 0.5 - view.y) * view.scale };
    pan(outside(at.x, size.width), outside(at.y, size.height));
    const moved = map.current.view;
    hover(row, { x: (x + 1 - moved.x) * moved.scale, y: (y + 1 - moved.y) * moved.scale });
  }
}

const outside = (at, length) => (at < 30 ? 30 - at : at > length - 30 ? length - 30 - at : 0);

function neighbour(layout, places, row, columns, lines) {
  const first = layout.blocks[0].rows[0];
  const from = places.get(row);
  if (!from) return first;
  const number = layout.blocks.findIndex((block) => from.x >= block.x && from.x < block.x + block.columns && from.y >= block.y && from.y < block.y + block.lines);
  const block = layout.blocks[number];
  const index = block.rows.indexOf(row) + columns + lines * block.columns;
  if (index >= 0 && index < block.rows.length) return block.rows[index];
  const next = layout.blocks[number + (columns + lines > 0 ? 1 : -1)];
  if (!next) return row;
  return columns + lines > 0 ? next.rows[0] : next.rows.at(-1);
}

function useWheel(canvas, zoom) {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const turn = (event) => {
      event.preventDefault();
      latest.current(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
    };
    const { current } = canvas;
    current.addEventListener("wheel", turn, { passive: false }); // React-like handlers are passive
    return () => current.removeEventListener("wheel", turn);
  }, []);
}

function Tip({ text, at, size }) {
  const own = useRef(null);
  useEffect(() => {
    if (!own.current || !at) return;
    const { offsetWidth: width, offsetHeight: height } = own.current;
    own.current.style.left = `${Math.min(at.x + 14, size.width - width - 6)}px`;
    own.current.style.top = `${at.y + 14 + height > size.height ? Math.max(4, at.y - height - 10) : at.y + 14}px`;
  });
  return html`<div class="tip ${text && at ? "" : "hidden"}" ref=${own} role="status">${text}</div>`;
}
