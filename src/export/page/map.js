// The map of one head: cells with hatching where the mask hides them, tokens on both axes, a crosshair.
const mapCanvas = document.getElementById("map");
const labelFont = '12px Inter, "DejaVu Sans", system-ui, sans-serif';
const layout = { cell: 1, fitted: 1, left: 0, top: 0, columnStep: 1, rowStep: 1, rowPatch: 0, columnPatch: 0 };
const largestCell = 96, largestCanvas = 16000;  // pixels; browsers refuse larger canvases
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

// `zoom`: 1 fits all columns into the room there is.
function layOutMap(context, set, zoom) {
  const room = Math.max(240, mapCanvas.parentElement.clientWidth);
  const longest = room < 500 ? 84 : 130;
  const widest = (tokens) => Math.min(longest, 8 + Math.max(...tokens.map((token) => context.measureText(token).width), 20));
  layout.left = Math.ceil(widest(set.rows));
  layout.top = Math.ceil(widest(set.columns));
  const free = room - layout.left - (set.rowPatches ? mostPatch + patchGap : 0) - 4;
  layout.fitted = Math.max(1, Math.min(showsNumbers() ? numberedCell : 30, Math.floor(free / set.columns.length)));
  const most = Math.min(largestCell, Math.floor(largestCanvas / Math.max(set.columns.length, set.rows.length)));
  layout.cell = Math.max(1, Math.min(most, Math.round(layout.fitted * zoom)));
  layout.columnStep = layout.rowStep = Math.max(1, Math.ceil(14 / layout.cell));
  const patch = Math.min(mostPatch, layout.cell * layout.rowStep - 1);
  layout.rowPatch = set.rowPatches ? patch : 0;
  layout.columnPatch = set.columnPatches ? patch : 0;
  layout.left += layout.rowPatch ? patch + patchGap : 0;
  layout.top += layout.columnPatch ? patch + patchGap : 0;
}

function bytesOfColor(name) {
  const color = parseInt(css(name).slice(1), 16);
  return [color >> 16, color >> 8 & 255, color & 255];
}

const isBlank = (map, row, column) => map.isMasked(row, column) && !(map.at(row, column) > 0);

function paintCells(context, map, scale) {
  const image = new ImageData(map.columns, map.rows);
  const blank = bytesOfColor("--blank");
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      const color = isBlank(map, row, column) ? blank : colorOf(map, row, map.at(row, column), scale);
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

function writeNumbers(context, map, scale) {
  const size = Math.floor(Math.min(layout.cell, 60) / 3.4);
  context.font = `${size}px Inter, "DejaVu Sans", system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      if (isBlank(map, row, column)) continue;
      const value = map.at(row, column);
      const [red, green, blue] = colorOf(map, row, value, scale);
      context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000" : "#fff";
      context.fillText(Number.isFinite(value) ? value.toFixed(2) : String(value), (column + 0.5) * layout.cell, (row + 0.5) * layout.cell);
    }
  }
}

// The cells as they were painted last: the pointer moves over them often, and they change rarely.
const painted = { key: "", canvas: document.createElement("canvas") };

function paintedCells(map, key, ratio, scale) {
  const whole = [key, scale.spread, scale.isPerRow, document.documentElement.dataset.theme, layout.cell, ratio, showsNumbers()].join();
  if (painted.key === whole) return painted.canvas;
  painted.key = whole;
  painted.canvas.width = Math.ceil(map.columns * layout.cell * ratio);
  painted.canvas.height = Math.ceil(map.rows * layout.cell * ratio);
  const context = painted.canvas.getContext("2d");
  context.scale(ratio, ratio);
  paintCells(context, map, scale);
  if (layout.cell >= 3) hatchCells(context, map);
  if (showsNumbers() && layout.cell >= leastNumberedCell) writeNumbers(context, map, scale);
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

function drawMap(set, map, chosen, key, scale) {
  const context = mapCanvas.getContext("2d");
  context.font = labelFont;
  layOutMap(context, set, scale.zoom);
  const width = layout.left + map.columns * layout.cell + 2, height = layout.top + map.rows * layout.cell + 2;
  const ratio = Math.min(window.devicePixelRatio || 1, 2, largestCanvas / Math.max(width, height));
  mapCanvas.width = Math.ceil(width * ratio);
  mapCanvas.height = Math.ceil(height * ratio);
  mapCanvas.style.width = width + "px";
  mapCanvas.style.height = height + "px";
  Object.assign(mapCanvas.dataset, {
    cell: layout.cell, left: layout.left, top: layout.top, rowPatch: layout.rowPatch, columnPatch: layout.columnPatch });  // for who points at cells
  context.scale(ratio, ratio);
  context.font = labelFont;
  context.drawImage(paintedCells(map, key, ratio, scale), layout.left, layout.top, map.columns * layout.cell, map.rows * layout.cell);
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

// A head's map in a square of some pixels; of larger maps each pixel is the largest of its cells, and hatched where all are masked.
function drawThumbnail(canvas, map, scale) {
  const edge = 48, pool = Math.max(1, Math.ceil(Math.max(map.rows, map.columns) / edge));
  const fine = Math.max(1, Math.floor(edge / Math.max(map.rows, map.columns)));  // pixels of a cell of a smaller map, for hatching
  const columns = Math.ceil(map.columns / pool), rows = Math.ceil(map.rows / pool);
  canvas.width = columns * fine;
  canvas.height = rows * fine;
  const image = new ImageData(canvas.width, canvas.height), blank = bytesOfColor("--blank"), stripe = bytesOfColor("--stripe");
  for (let y = 0; y < rows; ++y) {
    for (let x = 0; x < columns; ++x) {
      let largest = null, color = null;
      for (let row = y * pool; row < Math.min(map.rows, (y + 1) * pool); ++row) {
        for (let column = x * pool; column < Math.min(map.columns, (x + 1) * pool); ++column) {
          if (isBlank(map, row, column)) continue;
          const value = map.at(row, column), isFinite = Number.isFinite(value);
          const share = isFinite ? value / (scale.isPerRow ? largestOfRow(map, row) || 1 : 1) : Infinity;
          if (largest !== null && !(share > largest)) continue;
          largest = share;
          color = colorOf(map, row, value, scale);
        }
      }
      for (let part = 0; part < fine * fine; ++part) {
        const left = x * fine + part % fine, top = y * fine + Math.floor(part / fine);
        image.data.set([...(color || ((left + top) % 4 ? blank : stripe)), 255], 4 * (top * canvas.width + left));
      }
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
