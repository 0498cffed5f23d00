// Where each host's cell is: groups as blocks, packed in shelves, in units of one cell. Pure.

const NAME_PX = 24; // kept above a block for its name
const GAP_PX = 14; // between blocks
export const CELL_PX = 200; // the largest cell of a fleet that is shown whole: few hosts do not fill the map
const ROUNDS = 8;

/**
 * Return blocks {name, rows, x, y, columns, lines}, the size of the whole and the room above each block (`header`), for
 * an area in pixels. The room for names is in pixels too, so it follows from how large a cell will be.
 */
export function layOut(groups, area) {
  const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
  let scale = Math.min(CELL_PX, Math.sqrt((area.width * area.height) / Math.max(total, 1)));
  let best = null;
  for (let round = 0; round < ROUNDS; round += 1) {
    const packed = pack(groups, Math.max(4, Math.floor(area.width / scale)), { header: NAME_PX / scale, gap: GAP_PX / scale });
    const fits = Math.min(CELL_PX, area.width / packed.width, area.height / packed.height);
    if (!best || fits > best.scale) best = { ...packed, scale: fits };
    if (fits >= scale * 0.995) break;
    scale = (scale + fits) / 2;
  }
  return best;
}

function pack(groups, width, { header, gap }) {
  const blocks = [];
  let x = 0;
  let y = 0;
  let tall = 0;
  let right = 0;
  const few = groups.length <= 3;
  for (const group of groups) {
    const size = group.rows.length;
    const columns = Math.min(width, few ? width : Math.max(Math.ceil(Math.sqrt(size * 1.6)), Math.min(size, minimum(group.name))));
    const lines = Math.ceil(size / columns);
    if (x > 0 && x + columns > width) {
      y += tall + gap;
      x = 0;
      tall = 0;
    }
    blocks.push({ ...group, x, y: y + header, columns, lines });
    x += columns + gap;
    right = Math.max(right, x - gap);
    tall = Math.max(tall, lines + header);
  }
  return { blocks, width: Math.max(right, 1), height: Math.max(y + tall, 1), header };
}

const minimum = (name) => Math.min(12, Math.ceil(name.length * 0.5));

/** Return the row at a point of the layout, or -1. */
export function rowAt(layout, x, y) {
  for (const block of layout.blocks) {
    const column = Math.floor(x - block.x);
    const line = Math.floor(y - block.y);
    if (column >= 0 && column < block.columns && line >= 0 && line < block.lines) {
      return block.rows[line * block.columns + column] ?? -1;
    }
  }
  return -1;
}

/** Return {x, y} of each row's cell. */
export function placesOf(layout) {
  const places = new Map();
  for (const block of layout.blocks) {
    block.rows.forEach((row, index) => {
      places.set(row, { x: block.x + (index % block.columns), y: block.y + Math.floor(index / block.columns) });
    });
  }
  return places;
}
