// Weights as lines between two columns of tokens, and as shades of a running text.
const svgName = "http://www.w3.org/2000/svg";
const mostLines = 4000;

function svgElement(name, attributes) {
  const element = document.createElementNS(svgName, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function linesOf(map, color, least) {
  const lines = [];
  for (let row = 0; row < map.rows; ++row) {
    for (let column = 0; column < map.columns; ++column) {
      const weight = map.at(row, column);
      if (weight >= least && weight > 0) lines.push({ row, column, weight, color });
    }
  }
  return lines;
}

function drawLines(box, set, heads, chosen, least, choose) {
  const height = 20, width = Math.max(260, Math.min(640, box.clientWidth - 4)), room = Math.min(150, width * 0.32);
  const tall = Math.max(set.rows.length, set.columns.length) * height + 8;
  const svg = svgElement("svg", { width, height: tall, role: "img", "aria-label": "weights as lines" });
  let lines = heads.flatMap(({ map, color }) => linesOf(map, color, least));
  lines.sort((a, b) => a.weight - b.weight);
  lines = lines.slice(-mostLines);
  const y = (index) => index * height + height / 2 + 4;
  const ofChosen = lines.filter((line) => !chosen.isHeld || line.row === chosen.row).map((line) => line.weight);
  const range = Math.max(...ofChosen, 1e-9);
  for (const line of lines) {
    const isFaint = chosen.isHeld && line.row !== chosen.row;
    svg.append(svgElement("line", {
      x1: room + 6, y1: y(line.row), x2: width - room - 6, y2: y(line.column), stroke: line.color,
      "stroke-width": 2, opacity: (isFaint ? 0.08 : 1) * Math.min(1, line.weight / range),
    }));
  }
  const context = mapCanvas.getContext("2d");
  context.font = labelFont;
  const write = (tokens, x, anchor, axis) => tokens.forEach((token, index) => {
    const text = svgElement("text", { x, y: y(index) + 4, "text-anchor": anchor });
    text.textContent = shortened(context, token, room);
    if (axis === "row" && index === chosen.row) text.classList.add("chosen");
    text.addEventListener("click", () => choose(axis, index));
    text.addEventListener("mouseenter", () => choose(axis, index));
    svg.append(text);
  });
  write(set.rows, room, "end", "row");
  write(set.columns, width - room, "start", "column");
  box.replaceChildren(svg);
}

// Tokens that are patches in their places on their image, the words around it as text; beside each image the image as it is.
function arrange(set, axis, tokens) {
  const patches = tokens.map((_, index) => patchOf(set, axis, index));
  if (!patches.some((patch) => patch)) return tokens;
  const parts = [];
  const box = (name) => {
    const part = document.createElement("span");
    part.className = name;
    parts.push(part);
    return part;
  };
  let words = null, picture = null, grid = null;
  patches.forEach((patch, index) => {
    if (!patch) {
      words = words || box("words");
      words.append(tokens[index]);
      return;
    }
    if (patch.grid !== grid) {
      grid = patch.grid;
      words = null;
      picture = box("picture");
      picture.append(images[grid.image][0]);
      box("picture").append(images[grid.image][1]);
    }
    tokens[index].textContent = "";
    tokens[index].classList.add("patch");
    Object.assign(tokens[index].style, {
      left: 100 * patch.column / grid.columns + "%", top: 100 * patch.row / grid.rows + "%",
      width: 100 / grid.columns + "%", height: 100 / grid.rows + "%",
    });
    picture.append(tokens[index]);
  });
  return parts;
}

// The text is the columns' where a query is chosen, else the rows'; the chosen token is outlined.
const isOneText = (set) => set.rows.length === set.columns.length && set.rows.every((token, i) => token === set.columns[i]);
// The axis that choosing a token of the running text moves along.
const textAxis = (set, isReceived) => isOneText(set) === isReceived ? "column" : "row";

function drawText(box, set, map, chosen, isReceived, choose) {
  const tokens = isReceived ? set.rows : set.columns;
  const weight = (index) => isReceived ? map.at(index, chosen.column) : map.at(chosen.row, index);
  const shown = isReceived ? "row" : "column";
  const hadFocus = box.contains(document.activeElement), axis = textAxis(set, isReceived);
  let largest = 0;
  tokens.forEach((_, index) => { largest = Math.max(largest, weight(index) || 0); });
  box.replaceChildren(...arrange(set, shown, asText(tokens).map((text, index) => {
    const span = document.createElement("span");
    span.className = "token";
    span.textContent = text;
    span.tabIndex = index === chosen[axis] ? 0 : -1;  // one stop of the Tab key; arrows go from token to token
    span.setAttribute("role", "button");
    const patch = patchOf(set, shown, index);
    span.title = (patch ? tokenText(set, shown, index) + ": " : "") + numberText(weight(index));
    if (patch) span.setAttribute("aria-label", span.title);
    const color = colorAt(0.55);
    span.style.backgroundColor = `rgba(${color}, ${0.85 * (weight(index) || 0) / (largest || 1)})`;
    if (isOneText(set) && index === chosen[axis]) span.classList.add("chosen");
    span.addEventListener("click", () => choose(axis, index));
    span.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(axis, index); });
    if (patch) span.addEventListener("mouseenter", () => choose(axis, index));
    return span;
  })));
  if (hadFocus) box.querySelector(".token[tabindex='0']").focus();
}
