// The map of one head: cells with hatching where the mask hides them, tokens on both axes, a crosshair.
const mapCanvas = document.getElementById("map");
const labelFont = '12px Inter, "DejaVu Sans", system-ui, sans-serif';
const layout = { cell: 1, left: 0, top: 0, columnStep: 1, rowStep: 1, rowPatch: 0, columnPatch: 0 };
const mostPatch = 24, patchGap = 4;  // thumbnails of patches between labels and cells

const numberedCell = 48, leastNumberedCell = 30;  // edges of cells with numbers in them
const showsNumbers = () => document.getElementById("cell-numbers").checked;

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(text.slice(0, end) + "…").width > width) --end;
  return text.slice(0, end) + "…";
}

function layOutMap(context, set) {
  const room = Math.max(240, mapCanvas.parentElement.clientWidth);
  const most = room < 500 ? 84 : 130;
  const widest = (tokens) => Math.min(most, 8 + Math.max(...tokens.map((token) => context.measureText(token).width), 20));
  layout.left = Math.ceil(widest(set.rows));
  layout.top = Math.ceil(widest(set.columns));
  const free = room - layout.left - (set.rowPatches ? mostPatch + patchGap : 0) - 4;
  layout.cell = Math.max(1, Math.min(showsNumbers() ? numberedCell : 30, Math.floor(free / set.columns.length)));
  layout.columnStep = layout.rowStep = Math.max(1, Math.ceil(14 / layout.cell));
  const patch = Math.min(mostPatch, layout.cell * layout.rowStep - 1);
  layout.rowPatch = set.rowPatches ? patch : 0;
  layout.columnPatch = set.columnPatches ? patch : 0;
  layout.left += layout.rowPatch ? patch + patchGap : 0;
  layout.top += layout.columnPatch ? patch + patchGap : 0;
}

function paintCells(context, map) {
  const image = new ImageData(map.columns, map.rows);
  const range = map.largest || 1;
  const blank = parseInt(css("--blank").slice(1), 16);
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      const value = map.at(row, column);
      const isBlank = map.isMasked(row, column) && !(value > 0);
      const color = isBlank ? [blank >> 16, blank >> 8 & 255, blank & 255]
        : Number.isFinite(value) ? colorAt(value / range) : notFinite;
      const at = 4 * (row * map.columns + column);
      image.data[at] = color[0];
      image.data[at + 1] = color[1];
      image.data[at + 2] = color[2];
      image.data[at + 3] = 255;
    }
  }
  const small = document.createElement("canvas");
  small.width = map.columns;
  small.height = map.rows;
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, map.columns * layout.cell, map.rows * layout.cell);
}

function hatchCells(context, map) {
  context.save();
  context.beginPath();
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      if (!map.isMasked(row, column)) continue;
      context.rect(column * layout.cell, row * layout.cell, layout.cell, layout.cell);
    }
  }
  context.clip();
  context.beginPath();
  const width = map.columns * layout.cell, height = map.rows * layout.cell;
  for (let at = -height; at < width; at += 6) {
    context.moveTo(at, height);
    context.lineTo(at + height, 0);
  }
  context.strokeStyle = css("--stripe");
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

function writeNumbers(context, map) {
  const size = Math.floor(layout.cell / 3.4), range = map.largest || 1;
  context.font = `${size}px Inter, "DejaVu Sans", system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      const value = map.at(row, column);
      if (map.isMasked(row, column) && !(value > 0)) continue;
      const [red, green, blue] = Number.isFinite(value) ? colorAt(value / range) : notFinite;
      context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000" : "#fff";
      context.fillText(Number.isFinite(value) ? value.toFixed(2) : String(value), (column + 0.5) * layout.cell, (row + 0.5) * layout.cell);
    }
  }
}

// The cells as they were painted last: the pointer moves over them often, and they change rarely.
const painted = { key: "", canvas: document.createElement("canvas") };

function paintedCells(map, key, ratio) {
  const whole = [key, document.documentElement.dataset.theme, layout.cell, ratio, showsNumbers()].join();
  if (painted.key === whole) return painted.canvas;
  painted.key = whole;
  painted.canvas.width = Math.ceil(map.columns * layout.cell * ratio);
  painted.canvas.height = Math.ceil(map.rows * layout.cell * ratio);
  const context = painted.canvas.getContext("2d");
  context.scale(ratio, ratio);
  paintCells(context, map);
  if (layout.cell >= 3) hatchCells(context, map);
  if (showsNumbers() && layout.cell >= leastNumberedCell) writeNumbers(context, map);
  return painted.canvas;
}

function labelAxes(context, set, chosen) {
  const rowRoom = layout.rowPatch ? layout.rowPatch + patchGap : 0, columnRoom = layout.columnPatch ? layout.columnPatch + patchGap : 0;
  context.textBaseline = "middle";
  context.textAlign = "right";
  set.rows.forEach((token, row) => {
    if (row % layout.rowStep && row !== chosen.row) return;
    const y = layout.top + (row + 0.5) * layout.cell, patch = patchOf(set, "row", row);
    if (patch) drawPatch(context, patch, layout.left - rowRoom, y - layout.rowPatch / 2, layout.rowPatch);
    context.fillStyle = row === chosen.row ? css("--accent") : css("--ink");
    context.fillText(shortened(context, token, layout.left - rowRoom - 6), layout.left - rowRoom - 4, y);
  });
  context.textAlign = "left";
  set.columns.forEach((token, column) => {
    if (column % layout.columnStep && column !== chosen.column) return;
    const x = layout.left + (column + 0.5) * layout.cell, patch = patchOf(set, "column", column);
    if (patch) drawPatch(context, patch, x - layout.columnPatch / 2, layout.top - columnRoom, layout.columnPatch);
    context.save();
    context.translate(x, layout.top - columnRoom - 4);
    context.rotate(-Math.PI / 2);
    context.fillStyle = column === chosen.column ? css("--accent") : css("--ink");
    context.fillText(shortened(context, token, layout.top - columnRoom - 6), 0, 0);
    context.restore();
  });
}

function drawMap(set, map, chosen, key) {
  const context = mapCanvas.getContext("2d");
  context.font = labelFont;
  layOutMap(context, set);
  const width = layout.left + map.columns * layout.cell + 2, height = layout.top + map.rows * layout.cell + 2;
  const ratio = Math.min(window.devicePixelRatio || 1, 2, 16000 / Math.max(width, height));
  mapCanvas.width = Math.ceil(width * ratio);
  mapCanvas.height = Math.ceil(height * ratio);
  mapCanvas.style.width = width + "px";
  mapCanvas.style.height = height + "px";
  Object.assign(mapCanvas.dataset, {
    cell: layout.cell, left: layout.left, top: layout.top, rowPatch: layout.rowPatch, columnPatch: layout.columnPatch });  // for who points at cells
  context.scale(ratio, ratio);
  context.font = labelFont;
  context.drawImage(paintedCells(map, key, ratio), layout.left, layout.top, map.columns * layout.cell, map.rows * layout.cell);
  labelAxes(context, set, chosen);
  context.strokeStyle = css("--accent");
  context.lineWidth = 2;
  context.strokeRect(layout.left + chosen.column * layout.cell, layout.top + chosen.row * layout.cell, layout.cell, layout.cell);
}

// The cell under a pointer; null beside the map.
function cellAt(set, event) {
  const box = mapCanvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
  const row = Math.floor((event.clientY - box.top - layout.top) / layout.cell);
  const isInside = row >= 0 && column >= 0 && row < set.rows.length && column < set.columns.length;
  return isInside ? { row, column } : null;
}

// A head's map in a square of some pixels; of larger maps each pixel is the largest of its cells.
function drawThumbnail(canvas, map) {
  const edge = 48, pool = Math.max(1, Math.ceil(Math.max(map.rows, map.columns) / edge));
  canvas.width = Math.ceil(map.columns / pool);
  canvas.height = Math.ceil(map.rows / pool);
  const image = new ImageData(canvas.width, canvas.height), range = map.largest || 1;
  for (let y = 0; y < canvas.height; ++y) {
    for (let x = 0; x < canvas.width; ++x) {
      let largest = 0;
      for (let row = y * pool; row < Math.min(map.rows, (y + 1) * pool); ++row) {
        for (let column = x * pool; column < Math.min(map.columns, (x + 1) * pool); ++column) {
          const value = map.at(row, column);
          if (value > largest) largest = value;
        }
      }
      image.data.set([...colorAt(largest / range), 255], 4 * (y * canvas.width + x));
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
