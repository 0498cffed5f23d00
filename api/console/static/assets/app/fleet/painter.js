// Drawing of the heat map on a canvas. Cells of one look are drawn together; where cells are small, a picture
// with one pixel a host, made once, is drawn instead, so that a frame costs the same with a hundred thousand.
import { FULL, STATES, stateOf, useOf } from "./hosts.js";

export const HEATS = 7;
const LIGHT_HEATS = 4; // of the lowest use: near the colour of the ground
const SMALL = 5; // pixels: cells below this size are drawn from the picture
const NAMED = 68; // pixels: cells from this size on show their name
const NAME_GAP = 8; // pixels between the names of two blocks
const MARK_MAX = 24; // pixels: a mark or line does not grow with a large cell for ever
const LINE_MAX = 8;
const OUTLINED = 3; // of the lightest looks, which hardly differ from the ground
const OUTLINED_MIN = 9; // pixels a cell
const LOOKS = [...Array.from({ length: HEATS }, (_, heat) => `heat-${heat}`), "cell-disabled", "cell-draining", "cell-down"];
const STATE_LOOK = { disabled: HEATS, draining: HEATS + 1, down: HEATS + 2 };

/** Return the colours of the theme that is shown. */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    looks: LOOKS.map(of), ink: of("ink"), soft: of("soft"), surface: of("surface"), outline: of("line-strong"),
    mark: of("cell-full"), cellInk: of("cell-ink"), sunken: of("sunken"), font: of("font"),
  };
}

/** Return which look each host has, and whether it is marked as full. */
export function looksOf(hosts, resourceClass) {
  const looks = new Uint8Array(hosts.count);
  const full = new Uint8Array(hosts.count);
  for (let row = 0; row < hosts.count; row += 1) {
    const use = useOf(hosts, resourceClass, row);
    const state = STATES[hosts.state[row]];
    looks[row] = STATE_LOOK[state] ?? heatOf(use);
    full[row] = stateOf(hosts, row) === FULL ? 1 : 0;
  }
  return { looks, full };
}

export const heatOf = (use) => (use <= 0 ? 0 : Math.min(HEATS - 1, 1 + Math.floor(Math.min(use, 0.9999) * (HEATS - 1))));

/** Draw one frame. `view` has x, y (of the layout, at the left top) and scale (pixels a cell). */
export function paint(context, { layout, looks, full, names, view, width, height, colours, hovered, pictures }) {
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, width, height);
  const right = view.x + width / view.scale;
  const bottom = view.y + height / view.scale;
  for (const [index, block] of layout.blocks.entries()) {
    if (block.x > right || block.y - 2 > bottom || block.x + block.columns < view.x || block.y + block.lines < view.y) continue;
    const next = layout.blocks[index + 1];
    const end = next?.y === block.y ? (next.x - view.x) * view.scale - NAME_GAP : width;
    paintName(context, block, view, colours, { end, above: layout.header * view.scale });
    if (view.scale < SMALL) paintPicture(context, block, view, pictures.of(block));
    else paintCells(context, block, { looks, full, names, view, right, bottom, colours });
  }
  if (hovered >= 0) paintFrame(context, layout, hovered, view, colours);
}

/** Write a block's name up to `end`, where the next one begins; none where there is no room there or `above` the block. */
function paintName(context, block, view, colours, { end, above }) {
  const size = Math.max(10, Math.min(13, view.scale * 1.1));
  if (above < size) return;
  if (view.scale < 2 && block.columns * view.scale < 60) return;
  context.font = `600 ${size}px ${colours.font}`;
  context.fillStyle = colours.soft;
  context.textBaseline = "bottom";
  const x = (block.x - view.x) * view.scale;
  const y = (block.y - view.y) * view.scale - 3;
  const text = `${isolated(block.name)}  ${block.rows.length.toLocaleString("en")}`;
  context.fillText(shortened(context, text, end - x), x, y);
}

/** Let a name that is written from right to left keep its place beside what follows. */
const isolated = (name) => `\u2068${name}\u2069`;

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = [...text]; // one of two code units is not cut in half
  const fitting = Math.floor((letters.length * room) / context.measureText(text).width) - 2;
  return fitting > 2 ? `${letters.slice(0, fitting).join("")}…` : "";
}

function paintPicture(context, block, view, picture) {
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, (block.x - view.x) * view.scale, (block.y - view.y) * view.scale, block.columns * view.scale, block.lines * view.scale);
}

/** Draw the visible cells of a block, those of one look together. */
function paintCells(context, block, { looks, full, names, view, right, bottom, colours }) {
  const { scale } = view;
  const gap = scale >= 9 ? 1.5 : scale >= 6 ? 1 : 0.5;
  const size = scale - gap;
  const first = { column: Math.max(0, Math.floor(view.x - block.x)), line: Math.max(0, Math.floor(view.y - block.y)) };
  const last = { column: Math.min(block.columns - 1, Math.ceil(right - block.x)), line: Math.min(block.lines - 1, Math.ceil(bottom - block.y)) };
  const byLook = LOOKS.map(() => []);
  const marked = LOOKS.map(() => []);
  for (let line = first.line; line <= last.line; line += 1) {
    const y = (block.y + line - view.y) * scale;
    for (let column = first.column; column <= last.column; column += 1) {
      const row = block.rows[line * block.columns + column];
      if (row === undefined) break;
      const x = (block.x + column - view.x) * scale;
      byLook[looks[row]].push(x, y, row);
      if (full[row]) marked[looks[row]].push(x, y);
    }
  }
  byLook.forEach((cells, look) => {
    const inset = look < OUTLINED && scale >= OUTLINED_MIN ? 1 : 0;
    if (inset) fillSquares(context, cells, { inset: 0, size }, colours.outline);
    fillSquares(context, cells, { inset, size: size - 2 * inset }, colours.looks[look]);
    if (look >= HEATS) paintPattern(context, cells, look, size, colours);
    if (scale >= NAMED) paintNames(context, cells, look, size, names, colours);
  });
  marked.forEach((cells, look) => paintMarks(context, cells, size, look < LIGHT_HEATS ? colours.mark : colours.surface));
}

function fillSquares(context, cells, { inset, size }, colour) {
  context.fillStyle = colour;
  for (let index = 0; index < cells.length; index += 3) context.fillRect(cells[index] + inset, cells[index + 1] + inset, size, size);
}

/** Tell states apart by form too: down has a cross, draining one slash, disabled bars. */
function paintPattern(context, cells, look, size, colours) {
  context.strokeStyle = colours.surface;
  context.lineWidth = Math.min(LINE_MAX, Math.max(1, size / 9));
  context.beginPath();
  const inset = size * 0.22;
  for (let index = 0; index < cells.length; index += 3) {
    const x = cells[index];
    const y = cells[index + 1];
    if (look === STATE_LOOK.disabled) {
      context.moveTo(x + inset, y + size * 0.36);
      context.lineTo(x + size - inset, y + size * 0.36);
      context.moveTo(x + inset, y + size * 0.66);
      context.lineTo(x + size - inset, y + size * 0.66);
    } else {
      context.moveTo(x + inset, y + size - inset);
      context.lineTo(x + size - inset, y + inset);
      if (look === STATE_LOOK.down) {
        context.moveTo(x + inset, y + inset);
        context.lineTo(x + size - inset, y + size - inset);
      }
    }
  }
  context.stroke();
}

/** Mark full hosts by a square in the middle: a host whose memory is used up may have the colour of unused CPUs. */
function paintMarks(context, marked, size, colour) {
  const side = Math.min(MARK_MAX, Math.max(2, size * 0.3));
  const at = (size - side) / 2;
  context.fillStyle = colour;
  for (let index = 0; index < marked.length; index += 2) context.fillRect(marked[index] + at, marked[index + 1] + at, side, side);
}

function paintNames(context, cells, look, size, names, colours) {
  context.font = `11px ${colours.font}`;
  context.textBaseline = "top";
  context.fillStyle = look < LIGHT_HEATS ? colours.ink : colours.surface;
  for (let index = 0; index < cells.length; index += 3) {
    context.fillText(shortened(context, names[cells[index + 2]], size - 8), cells[index] + 4, cells[index + 1] + 4);
  }
}

/** Frame a cell in two colours: one of them is seen on a cell of any colour. */
function paintFrame(context, layout, row, view, colours) {
  const block = layout.blocks.find((each) => each.rows.includes(row));
  if (!block) return;
  const index = block.rows.indexOf(row);
  const x = (block.x + (index % block.columns) - view.x) * view.scale;
  const y = (block.y + Math.floor(index / block.columns) - view.y) * view.scale;
  const size = Math.max(view.scale, 6);
  for (const [outside, colour] of [[3, colours.surface], [1, colours.ink]]) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x - outside - 0.5, y - outside - 0.5, size + 2 * outside - 0.5, size + 2 * outside - 0.5);
  }
}

/** Pictures of blocks with one pixel a host, made when they are first needed. */
export class Pictures {
  constructor(looks, full, colours) {
    this._looks = looks;
    this._full = full;
    this._colours = colours.looks.map(rgb);
    this._mark = rgb(colours.mark);
    this._made = new Map();
  }

  of(block) {
    if (!this._made.has(block)) this._made.set(block, this._make(block));
    return this._made.get(block);
  }

  _make(block) {
    const canvas = document.createElement("canvas");
    canvas.width = block.columns;
    canvas.height = block.lines;
    const context = canvas.getContext("2d");
    const image = context.createImageData(block.columns, block.lines);
    const pixels = new Uint32Array(image.data.buffer);
    block.rows.forEach((row, index) => { pixels[index] = this._full[row] ? this._mark : this._colours[this._looks[row]]; });
    context.putImageData(image, 0, 0);
    return canvas;
  }
}

/** Return a colour of the form #rrggbb as a pixel (ABGR: the byte order of a canvas). */
function rgb(text) {
  const value = Number.parseInt(text.slice(1), 16);
  const [red, green, blue] = [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
