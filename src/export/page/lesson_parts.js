// What pages are made of. Texts of a lesson only become text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const kind = document.documentElement.dataset.kind;
const W = WORDS[document.documentElement.lang] || WORDS.en;
const colors = atob(data.colors);

/// An element with attributes and children; a child that is a text becomes a text node.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/// A formula: _ lowers and ^ raises one character or a group in braces.
function formula(text) {
  const element = make("span", {class: "formula"});
  for (let i = 0; i < text.length; ++i) {
    const tag = text[i] === "_" ? "sub" : text[i] === "^" ? "sup" : null;
    if (!tag) {
      element.append(text[i]);
      continue;
    }
    const end = text[i + 1] === "{" ? text.indexOf("}", i) : -1;
    element.append(make(tag, {}, end < 0 ? text.slice(i + 1, i + 2) : text.slice(i + 2, end)));
    i = end < 0 ? i + 1 : end;
  }
  return element;
}

/// A text with **bold** words and $formulas$.
function rich(tag, text, attributes = {}) {
  const element = make(tag, attributes);
  for (const part of text.split(/(\*\*[^*]+\*\*|\$[^$]+\$)/)) {
    if (part.startsWith("**") && part.length > 4) element.append(make("strong", {}, part.slice(2, -2)));
    else if (part.startsWith("$") && part.length > 2) element.append(formula(part.slice(1, -1)));
    else if (part) element.append(part);
  }
  return element;
}

/// Numbers 0 to count - 1 in another order; the same for the same seed.
function shuffled(count, seed) {
  const order = [...Array(count).keys()];
  let state = (seed + 1) * 2654435761 % 4294967296;
  for (let i = count - 1; i > 0; --i) {
    state = (state * 1664525 + 1013904223) % 4294967296;
    const j = Math.floor(state / 4294967296 * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

const named = (index, name) => (name ? `${index} ${name}` : `${index}`);
const shown = (value, decimals) => (value === null ? "–" : value.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1").replace(".", W.point));

/// Colours a cell by its share of the map's largest number; ink that is read on it.
function paint(cell, value, largest, isSigned) {
  if (value === null || largest === 0) return;
  const share = Math.min(Math.abs(value) / largest, 1);
  if (isSigned) {
    cell.style.background = `rgba(${value < 0 ? "214,69,65" : "31,111,235"},${(0.85 * share).toFixed(3)})`;
    return;
  }
  const at = 3 * Math.round(255 * share), [r, g, b] = [0, 1, 2].map((channel) => colors.charCodeAt(at + channel));
  cell.style.background = `rgb(${r},${g},${b})`;
  cell.style.color = 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#111" : "#fff";
}

function mapTitle(map) {
  const layer = map.layer === null ? "" : `, ${W.layer} ${map.layer}`, head = map.head === null ? "" : `, ${W.head} ${map.head}`;
  return `${map.title}: ${map.kind}${layer}${head}`;
}

/// The scale of a map's colours, with its ends.
function legend(largest, isSigned) {
  const steps = [...Array(9).keys()].map((i) => {
    const cell = make("i");
    paint(cell, isSigned ? (i - 4) / 4 : i / 8, 1, isSigned);
    return cell.style.background || "transparent";
  });
  const ramp = make("span", {class: "ramp", style: `background:linear-gradient(to right,${steps.join(",")})`});
  return make("span", {class: "note legend"}, isSigned ? shown(-largest, 2) : "0", ramp, shown(largest, 2));
}

const DENSE = 14;

/// A map as a table. `blank`: without its numbers, as a grid to fill in or until the question is answered.
function mapTable(map, {blank = false, marked = null} = {}) {
  const columns = map.columns.length, isDense = columns > DENSE || map.rows.length > 2 * DENSE;
  const table = make("table", {class: "map" + (isDense ? " dense" : ""), "aria-label": mapTitle(map)});
  const corner = make("th", {}, `${map.rowTitle} ↓ ${map.columnTitle} →`);
  const largest = Math.max(...map.values.map((value, i) => (value === null || map.masked[i] ? 0 : Math.abs(value))), 0);
  table.append(make("caption", {}, mapTitle(map), blank ? "" : " \u00A0 ", blank ? "" : legend(largest, map.isSigned)));
  table.append(make("thead", {}, make("tr", {}, isDense ? make("th") : corner,
      ...map.columns.map((name, i) => make("th", {scope: "col", title: named(map.firstColumn + i, name)}, named(map.firstColumn + i, name))))));
  const body = make("tbody");
  map.rows.forEach((name, row) => {
    const cells = map.columns.map((_, column) => {
      const at = row * columns + column, value = map.values[at], isMasked = map.masked[at] === 1;
      const cell = make("td", {"data-row": map.firstRow + row, "data-column": map.firstColumn + column});
      if (blank) return cell;
      if (isMasked) cell.className = "masked";
      else paint(cell, value, largest, map.isSigned);
      if (!isMasked) cell.append(shown(value, 2));
      cell.title = `${W.row} ${named(map.firstRow + row, name)}, ${W.column} ${named(map.firstColumn + column, map.columns[column])}: ${isMasked ? "0" : shown(value, 4)}`;
      if (marked && marked[0] === map.firstRow + row && marked[1] === map.firstColumn + column) cell.classList.add("marked");
      return cell;
    });
    body.append(make("tr", {}, make("th", {scope: "row", title: named(map.firstRow + row, name)}, named(map.firstRow + row, name)), ...cells));
  });
  table.append(body);
  if (blank) table.classList.add("blank");
  return table;
}

/// Printed numbers, each above the program's.
function numbersTable(numbers) {
  const columns = numbers.columns.length, table = make("table", {class: "numbers"});
  table.append(make("caption", {}, `${W.printed} ${numbers.source}; ${W.computed} (${mapTitle(numbers)})`));
  for (let row = 0; row < numbers.rows.length; ++row) {
    for (const values of [numbers.printed, numbers.values]) {
      const cells = values.slice(row * columns, (row + 1) * columns).map((value) => make("td", {}, shown(value, numbers.decimals)));
      const label = values === numbers.printed ? named(numbers.firstRow + row, numbers.rows[row]) : "";
      table.append(make("tr", {class: values === numbers.printed ? "" : "note"}, make("th", {scope: "row"}, label), ...cells));
    }
  }
  return make("div", {}, table, make("p", {class: "note"}, numbers.verdict));
}

function cellsOf(table) { return [...table.querySelectorAll("td")]; }

/// Lets a cell of a table be chosen by mouse and keyboard; `use` gets the cell, and the digit that was pressed on it.
function choosable(table, use) {
  const cells = cellsOf(table), columns = table.querySelectorAll("tbody tr:first-child td").length;
  let at = -1;
  const go = (to) => {
    if (to < 0 || to >= cells.length) return;
    if (at >= 0) cells[at].classList.remove("chosen");
    cells[at = to].classList.add("chosen");
    cells[at].scrollIntoView({block: "nearest", inline: "nearest"});
  };
  table.classList.add("picks");
  table.tabIndex = 0;
  cells.forEach((cell, i) => cell.addEventListener("click", () => {
    if (!table.classList.contains("picks")) return;
    go(i);
    use(cell, null);
  }));
  table.addEventListener("keydown", (event) => {
    if (!table.classList.contains("picks") || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[event.key];
    const isAcross = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (step) {
      const to = at < 0 ? 0 : at + step;
      if (at < 0 || !isAcross || Math.floor(to / columns) === Math.floor(at / columns)) go(to);
    } else if (at >= 0 && (event.key === "Enter" || event.key === " ")) use(cells[at], null);
    else if (at >= 0 && /^[0-3]$/.test(event.key)) use(cells[at], Number(event.key));
    else return;
    event.preventDefault();
  });
  return () => { table.classList.remove("picks"); table.removeAttribute("tabindex"); };
}

/// "0.56" or "0,56" as a number; null: it is none.
function typedNumber(text) {
  const trimmed = text.trim().replace(",", ".").replace("−", "-");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : null;
}

function passes(question, value) {
  const {test, right, within} = question;
  // As printed numbers are compared: a decimal is not a double.
  const isEqual = Math.abs(value - right) <= within + 1e-9;
  if (test === "at_least") return value >= right;
  if (test === "at_most") return value <= right;
  return test === "differs" ? !isEqual : isEqual;
}

/// Overlap of two maps, 0 … 1: rows become shares, and the smaller ones are added; the mean over rows.
function overlap(painted, computed) {
  const share = (row) => {
    const sum = row.reduce((a, b) => a + Math.max(b, 0), 0);
    return row.map((value) => (sum > 0 ? Math.max(value, 0) / sum : 0));
  };
  const rows = computed.map((row, i) => {
    const a = share(painted[i]), b = share(row);
    return a.reduce((sum, value, j) => sum + Math.min(value, b[j]), 0);
  });
  return rows.reduce((a, b) => a + b, 0) / rows.length;
}

document.getElementById("theme").textContent = W.theme;
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
});
document.documentElement.dataset.theme = kind !== "worksheet" && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; });
