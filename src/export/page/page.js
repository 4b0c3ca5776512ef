// What is chosen, and what the pointer and the keys do with it.
const find = (id) => document.getElementById(id);
const state = { set: 0, layer: 0, head: 0, row: 0, column: 0, isHeld: false, view: "map" };
const scale = { spread: "linear", isPerRow: false, zoom: 1 };
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
    const tab = find("tab-" + view);
    tab.setAttribute("aria-selected", String(view === state.view));
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  for (const button of document.querySelectorAll("#grid button")) {
    const isChosen = Number(button.dataset.layer) === state.layer && Number(button.dataset.head) === state.head;
    button.setAttribute("aria-pressed", String(isChosen));
    button.tabIndex = isChosen ? 0 : -1;  // one stop of the Tab key; arrows go from head to head
  }
  mapCanvas.setAttribute("aria-label", `attention of layer ${layer}, head ${head}`);
  const range = scale.isPerRow ? 1 : map.largest, ends = [0, 0.5, 1].map((position) => range * spreads[scale.spread].value(position));
  find("least-of-bar").textContent = scale.spread === "log" ? "≤ " + numberText(ends[0]) : "0";
  find("middle").textContent = numberText(ends[1]);
  find("most").textContent = scale.isPerRow ? "the row's largest" : numberText(range);
  find("least-text").textContent = find("least").value;
  if (state.view === "map") drawMap(set, map, state, [state.set, state.layer, state.head].join(), scale);
  if (state.view === "lines") {
    const heads = find("all-heads").checked ? set.heads.map((_, index) => index) : [state.head];
    const colored = heads.map((index) => ({ map: mapOf(set, state.layer, index), color: page.headColors[index % page.headColors.length] }));
    drawLines(find("lines"), set, colored, state, Number(find("least").value), choose);
  }
  if (state.view === "text") drawText(find("text"), set, map, state, find("received").checked, choose);
  tell();
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

// Thumbnails as large as the widest row of heads has room for.
function fitGrid() {
  const heads = current().heads.length, side = find("grid"), isNarrow = matchMedia("(max-width: 760px)").matches;
  const room = isNarrow ? side.clientWidth : document.querySelector("main").clientWidth * 0.5;
  const edge = Math.max(20, Math.min(isNarrow ? 40 : 48, Math.floor((room - 60) / heads) - 4));
  side.style.setProperty("--thumbnail", edge + "px");
  side.classList.toggle("narrow", edge < 32);  // for numbers alone
}

function fillGrid() {
  const set = current(), all = set.layers.length * set.heads.length;
  const told = `${counted(all, "head")} in ${counted(set.layers.length, "layer")}`;
  find("grid").setAttribute("aria-label", told);
  const count = document.createElement("p");
  count.id = "count";
  count.textContent = told;
  fitGrid();
  const names = document.createElement("div");
  names.className = "layer heads";
  names.setAttribute("aria-hidden", "true");  // buttons say layer and head
  names.append(document.createElement("span"), ...set.heads.map((head) => {
    const name = document.createElement("span"), letter = document.createElement("i");
    letter.textContent = "H";
    name.append(letter, String(head));
    return name;
  }));
  find("grid").replaceChildren(count, names, ...set.layers.map((layer, layerIndex) => {
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
      drawThumbnail(canvas, mapOf(set, layerIndex, headIndex), scale);
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

// Thumbnails and the map, after what all have in common changed.
function drawAll() {
  const hadFocus = find("grid").contains(document.activeElement);
  fillGrid();
  draw();
  if (hadFocus) focusHead();
}

function switchTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  drawAll();
}

function focusHead() { document.querySelector("#grid [aria-pressed='true']").focus({ preventScroll: false }); }

function zoomBy(factor) {
  const least = 1 / layout.fitted, before = layout.cell;
  scale.zoom = factor === 0 ? 1 : Math.min(largestCell / layout.fitted, Math.max(least, scale.zoom * factor));
  if (factor && Math.round(layout.fitted * scale.zoom) === before) scale.zoom = (before + Math.sign(factor - 1)) / layout.fitted;
  draw();
  const box = mapCanvas.parentElement;  // the chosen cell stays in sight
  box.scrollLeft = layout.left + (state.column + 0.5) * layout.cell - box.clientWidth / 2;
  box.scrollTop = layout.top + (state.row + 0.5) * layout.cell - box.clientHeight / 2;
}

// Where the focus is in the grid, arrows choose heads; on a tab they choose views, in the text tokens.
const gridKeys = {
  ArrowLeft: () => nextHead(-1), ArrowRight: () => nextHead(1),
  ArrowUp: () => nextHead(-current().heads.length), ArrowDown: () => nextHead(current().heads.length),
  Home: () => { state.head = 0; }, End: () => { state.head = current().heads.length - 1; },
};
const nextView = (by) => { state.view = views[(views.indexOf(state.view) + by + views.length) % views.length]; };
const nextToken = (by) => move(textAxis(current(), find("received").checked), by);
const textKeys = {
  ArrowLeft: () => nextToken(-1), ArrowRight: () => nextToken(1), ArrowUp: () => nextToken(-1), ArrowDown: () => nextToken(1),
};
const tabKeys = { ArrowLeft: () => nextView(-1), ArrowRight: () => nextView(1) };

const keys = {
  1: () => { state.view = "map"; }, 2: () => { state.view = "lines"; }, 3: () => { state.view = "text"; },
  ArrowUp: () => move("row", -1), ArrowDown: () => move("row", 1),
  ArrowLeft: () => move("column", -1), ArrowRight: () => move("column", 1),
  "[": () => nextHead(-1), "]": () => nextHead(1),
  PageUp: () => nextHead(-current().heads.length), PageDown: () => nextHead(current().heads.length),
  "+": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: () => zoomBy(0),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
  if (event.key.toLowerCase() === "d") return switchTheme();
  const isIn = (id) => event.target instanceof Element && event.target.closest(id);
  const own = isIn("#grid") ? gridKeys : isIn("[role=tablist]") ? tabKeys : isIn("#text") ? textKeys : {};
  const act = [own, keys].filter((some) => Object.hasOwn(some, event.key)).map((some) => some[event.key])[0];
  if (!act) return;
  event.preventDefault();
  act();
  draw();
  if (own === gridKeys) focusHead();
  if (own === tabKeys) find("tab-" + state.view).focus();
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
find("spread").addEventListener("input", (event) => {
  scale.spread = event.target.value;
  drawAll();
});
find("per-row").addEventListener("input", (event) => {
  scale.isPerRow = event.target.checked;
  drawAll();
});
for (const [id, factor] of [["zoom-in", 1.25], ["zoom-out", 0.8], ["zoom-fit", 0]]) find(id).addEventListener("click", () => zoomBy(factor));
mapCanvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoomBy(event.deltaY < 0 ? 1.25 : 0.8);
}, { passive: false });
window.addEventListener("resize", () => {
  fitGrid();
  draw();
});

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
