// What is chosen, and what the pointer and the keys do with it.
const find = (id) => document.getElementById(id);
const state = { set: 0, layer: 0, head: 0, row: 0, column: 0, isHeld: false, view: "map" };
const views = ["map", "lines", "text"];
const current = () => page.sets[state.set];
const currentMap = () => mapOf(current(), state.layer, state.head);

function tell() {
  const set = current(), map = currentMap(), value = map.at(state.row, state.column);
  const number = document.createElement("b");
  number.id = "number";
  number.textContent = numberText(value);
  const place = (axis) => [`${set[axis + "Title"]} ${set[axis + "Positions"][state[axis]]} ${tokenText(set, axis, state[axis])} `,
    ...pictureOf(set, axis, state[axis])];
  find("readout").classList.toggle("tall", Boolean(set.rowPatches || set.columnPatches));
  find("readout").replaceChildren(...place("row"), "→ ", ...place("column").map((part, at) => at === 0 ? part.trimEnd() : part), ": ",
    number, map.isMasked(state.row, state.column) ? " (masked)" : "");
}

// A token's patch, as a list of no or one element.
function pictureOf(set, axis, index) {
  const patch = patchOf(set, axis, index), edge = 64;  // pixels, of half as many units
  if (!patch) return [];
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = edge;
  canvas.className = "thumbnail";
  canvas.dataset.axis = axis;
  drawPatch(canvas.getContext("2d"), patch, 0, 0, edge);
  return [canvas];
}

function choose(axis, index) {
  if (state[axis] === index && state.isHeld === (axis === "row")) return;  // the pointer is over what was drawn anew
  state[axis] = index;
  state.isHeld = axis === "row";
  draw();
}

function draw() {
  const set = current(), map = currentMap();
  const layer = set.layers[state.layer], head = set.heads[state.head];
  find("head").textContent = `layer ${layer}, head ${head}: rows ${set.rowTitle}, columns ${set.columnTitle}`;
  for (const view of views) {
    find("view-" + view).classList.toggle("shown", view === state.view);
    find("tab-" + view).setAttribute("aria-selected", String(view === state.view));
  }
  for (const button of document.querySelectorAll("#grid button")) {
    const isChosen = Number(button.dataset.layer) === state.layer && Number(button.dataset.head) === state.head;
    button.setAttribute("aria-pressed", String(isChosen));
  }
  mapCanvas.setAttribute("aria-label", `attention of layer ${layer}, head ${head}`);
  find("most").textContent = numberText(map.largest);
  find("least-text").textContent = find("least").value;
  if (state.view === "map") drawMap(set, map, state, [state.set, state.layer, state.head].join());
  if (state.view === "lines") {
    const heads = find("all-heads").checked ? set.heads.map((_, index) => index) : [state.head];
    const colored = heads.map((index) => ({ map: mapOf(set, state.layer, index), color: page.headColors[index % page.headColors.length] }));
    drawLines(find("lines"), set, colored, state, Number(find("least").value), choose);
  }
  if (state.view === "text") drawText(find("text"), set, map, state, find("received").checked, choose);
  tell();
}

function fillGrid() {
  const set = current();
  const names = document.createElement("div");
  names.className = "layer heads";
  names.setAttribute("aria-hidden", "true");  // buttons say layer and head
  names.append(...["", ...set.heads.map((head) => "H" + head)].map((text) => {
    const name = document.createElement("span");
    name.textContent = text;
    return name;
  }));
  find("grid").replaceChildren(names, ...set.layers.map((layer, layerIndex) => {
    const row = document.createElement("div");
    row.className = "layer";
    const name = document.createElement("span");
    name.textContent = "L" + layer;
    row.append(name, ...set.heads.map((head, headIndex) => {
      const button = document.createElement("button"), canvas = document.createElement("canvas");
      button.type = "button";
      button.dataset.layer = String(layerIndex);
      button.dataset.head = String(headIndex);
      button.title = `layer ${layer}, head ${head}`;
      button.setAttribute("aria-label", button.title);
      button.append(canvas);
      drawThumbnail(canvas, mapOf(set, layerIndex, headIndex));
      button.addEventListener("click", () => {
        state.layer = layerIndex;
        state.head = headIndex;
        draw();
      });
      return button;
    }));
    return row;
  }));
}

function chooseSet(index) {
  const set = page.sets[index];
  state.set = index;
  state.layer = Math.min(state.layer, set.layers.length - 1);
  state.head = Math.min(state.head, set.heads.length - 1);
  state.row = Math.min(state.row, set.rows.length - 1);
  state.column = Math.min(state.column, set.columns.length - 1);
  fillGrid();
  draw();
}

function move(axis, by) {
  const count = axis === "row" ? current().rows.length : current().columns.length;
  state[axis] = Math.max(0, Math.min(count - 1, state[axis] + by));
  state.isHeld = true;
}

function nextHead(by) {
  const set = current(), count = set.heads.length * set.layers.length;
  const index = (state.layer * set.heads.length + state.head + by + count) % count;
  state.layer = Math.floor(index / set.heads.length);
  state.head = index % set.heads.length;
}

function switchTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  draw();
}

const keys = {
  1: () => { state.view = "map"; }, 2: () => { state.view = "lines"; }, 3: () => { state.view = "text"; },
  ArrowUp: () => move("row", -1), ArrowDown: () => move("row", 1),
  ArrowLeft: () => move("column", -1), ArrowRight: () => move("column", 1),
  "[": () => nextHead(-1), "]": () => nextHead(1),
  PageUp: () => nextHead(-current().heads.length), PageDown: () => nextHead(current().heads.length),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
  if (event.key.toLowerCase() === "d") return switchTheme();
  const act = Object.hasOwn(keys, event.key) && keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  draw();
});
mapCanvas.addEventListener("pointermove", (event) => {
  const cell = cellAt(current(), event);
  if (!cell || (cell.row === state.row && cell.column === state.column)) return;
  Object.assign(state, cell);
  draw();
});
mapCanvas.addEventListener("pointerdown", (event) => {
  const cell = cellAt(current(), event);
  if (cell) Object.assign(state, cell, { isHeld: true });
  draw();
});
for (const view of views) {
  find("tab-" + view).addEventListener("click", () => {
    state.view = view;
    draw();
  });
}
for (const id of ["least", "all-heads", "received", "cell-numbers"]) find(id).addEventListener("input", draw);
find("theme").addEventListener("click", switchTheme);
find("set").addEventListener("change", (event) => chooseSet(Number(event.target.value)));
window.addEventListener("resize", draw);

find("title").textContent = page.title;
find("subtitle").textContent = page.subtitle;
find("made").textContent = page.made;
find("note").textContent = page.note;
page.sets.forEach((set, index) => {
  const option = document.createElement("option");
  option.value = String(index);
  option.textContent = set.title;
  find("set").append(option);
});
find("set").hidden = page.sets.length < 2;
find("hatched").hidden = !page.sets.some((set) => set.masks.length > 0);
const bar = find("bar").getContext("2d");
for (let step = 0; step < 256; ++step) {
  bar.fillStyle = `rgb(${colorAt(step / 255)})`;
  bar.fillRect(step, 0, 1, 1);
}
if (document.documentElement.dataset.theme === "auto") {
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
chooseSet(0);
