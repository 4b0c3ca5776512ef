// What the page was made from: JSON in the element "data". Its numbers are base64 of float32, float16 or bytes.
const page = JSON.parse(document.getElementById("data").textContent);

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function halfToFloat(half) {
  const sign = half & 0x8000 ? -1 : 1, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// Digits that a number's encoding has.
const digits = { f32: 6, f16: 3, u8: 2 }[page.encoding];

// [layer, head, row, column] of a set, as floats; decoded when it is first shown.
function valuesOf(set) {
  if (set.values) return set.values;
  const bytes = bytesOf(set.data);
  if (page.encoding === "f32") {
    set.values = new Float32Array(bytes.buffer);
  } else if (page.encoding === "f16") {
    set.values = Float32Array.from(new Uint16Array(bytes.buffer), halfToFloat);
  } else {
    const cells = set.rows.length * set.columns.length;
    set.values = new Float32Array(bytes.length);
    const notNumbers = [-Infinity, Infinity, NaN], last = page.lastStep;
    for (let i = 0; i < bytes.length; ++i) {
      const step = bytes[i];
      set.values[i] = step <= last ? step / last * set.most[Math.floor(i / cells)] : notNumbers[step - last - 1];
    }
  }
  set.hidden = set.masks.map(bytesOf);
  set.largest = [];
  return set.values;
}

// One head's map: at(row, column), isMasked(row, column) and the largest finite value.
function mapOf(set, layer, head) {
  const values = valuesOf(set), columns = set.columns.length, cells = set.rows.length * columns;
  const index = layer * set.heads.length + head, begin = index * cells, bits = set.hidden[set.maskOf[index]];
  if (set.largest[index] === undefined) {
    let largest = 0;
    for (let i = begin; i < begin + cells; ++i) if (Number.isFinite(values[i])) largest = Math.max(largest, values[i]);
    set.largest[index] = largest;
  }
  return {
    rows: set.rows.length, columns, largest: set.largest[index],
    at: (row, column) => values[begin + row * columns + column],
    isMasked(row, column) {
      const bit = row * columns + column;
      return bits !== undefined && (bits[bit >> 3] >> (bit & 7) & 1) === 1;
    },
  };
}

// How numbers become colours: of a range its share, the root of that, or its four last decades; of the map's or of the row's largest.
const spreads = {
  linear: { at: (share) => share, value: (position) => position },
  root: { at: Math.sqrt, value: (position) => position ** 2 },
  log: { at: (share) => share > 1e-4 ? 1 + Math.log10(share) / 4 : 0, value: (position) => 10 ** (4 * position - 4) },
};

function largestOfRow(map, row) {
  map.largestOfRow = map.largestOfRow || [];
  if (map.largestOfRow[row] === undefined) {
    let largest = 0;
    for (let column = 0; column < map.columns; ++column) {
      const value = map.at(row, column);
      if (Number.isFinite(value)) largest = Math.max(largest, value);
    }
    map.largestOfRow[row] = largest;
  }
  return map.largestOfRow[row];
}

// The colour of a cell's number, as bytes.
function colorOf(map, row, value, scale) {
  if (!Number.isFinite(value)) return notFinite;
  const range = (scale.isPerRow ? largestOfRow(map, row) : map.largest) || 1;
  return colorAt(spreads[scale.spread].at(Math.min(Math.max(value / range, 0), 1)));
}

// The colours of the 256 steps from 0 to 1, as "rgb(…)" and as bytes.
const colorBytes = bytesOf(page.colors);
function colorAt(position) {
  const step = 3 * Math.max(0, Math.min(255, Math.round(position * 255)));
  return [colorBytes[step], colorBytes[step + 1], colorBytes[step + 2]];
}
const notFinite = [255, 0, 255];

// Images whose patches tokens are. Each twice: grey under shades, and as it is.
const images = page.images.map((source) => [true, false].map((isMuted) => {
  const image = new Image();
  image.alt = isMuted ? "" : "the image";
  image.classList.toggle("muted", isMuted);
  image.addEventListener("load", () => draw());
  image.src = source;
  return image;
}));

// The patch that a token of an axis ("row" or "column") is; null: it is none.
function patchOf(set, axis, index) {
  for (const grid of set[axis + "Patches"] || []) {
    const at = set[axis + "Positions"][index] - grid.first, row = Math.floor(at / grid.step), column = at % grid.step;
    if (at >= 0 && row < grid.rows && column < grid.columns) return { grid, row, column };
  }
  return null;
}

// The middle square of a patch.
function drawPatch(context, patch, x, y, edge) {
  const image = images[patch.grid.image][1];
  if (!image.naturalWidth) return;  // it isn't decoded yet
  const width = image.naturalWidth / patch.grid.columns, height = image.naturalHeight / patch.grid.rows;
  const side = Math.min(width, height);
  context.drawImage(image, patch.column * width + (width - side) / 2, patch.row * height + (height - side) / 2, side, side,
    x, y, edge, edge);
}

// A token as a line names it: of a patch its place, and its text where that says more.
function tokenText(set, axis, index) {
  const text = set[axis + "s"][index], patch = patchOf(set, axis, index);
  if (!patch) return `“${text}”`;
  const grids = set[axis + "Patches"], number = grids.indexOf(patch.grid);
  const place = (grids.length > 1 ? `image ${number}, ` : "") + `patch row ${patch.row}, column ${patch.column}`;
  return text === (grids.length > 1 ? `${number}:` : "") + `${patch.row},${patch.column}` ? place : `“${text}” (${place})`;
}

function numberText(value) {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  return Number(value.toPrecision(digits)).toString();
}

// Tokens as they continue a text: "·cat" is " cat", "##ing" is "ing". Where no token has either mark, each is a word.
function asText(tokens) {
  const isMarked = tokens.some((token) => token.length > 1 && token.startsWith("·"));
  return tokens.map((token, index) => {
    if (token.startsWith("·")) return " " + token.slice(1);
    if (token.startsWith("##")) return token.slice(2);
    return isMarked || index === 0 ? token : " " + token;
  });
}
