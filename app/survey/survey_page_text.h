#pragma once

#include <string_view>

namespace headlight::app {

/// The report around its data: what is before the JSON, and behind it.
inline constexpr std::string_view kPageStart = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>What heads do</title>
<style>
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5c6370; --ground: #fff; --line: #d8dce2; --query: #2166ac; --key: #b2182b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --quiet: #9aa3ad; --ground: #15171a; --line: #343a42; --query: #7db8f0; --key: #f08a7d; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; }
p.facts { color: var(--quiet); margin: .2rem 0 1rem; }
#metrics button, table.heads button { font: inherit; cursor: pointer; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px; }
#metrics button { padding: .2rem .7rem; margin: 0 .3rem .3rem 0; }
#metrics button[aria-pressed=true] { border-color: var(--ink); font-weight: 600; }
table.heads { border-collapse: separate; border-spacing: 2px; }
table.heads th { font-weight: 400; color: var(--quiet); padding: 0 .4rem; }
table.heads button { width: 3.4rem; height: 2rem; border: 0; font-size: .8rem; font-variant-numeric: tabular-nums; }
table.heads button:focus-visible, table.heads button[aria-pressed=true] { outline: 2px solid var(--ink); }
svg.bars { display: block; margin: .5rem 0; }
svg.bars rect { fill: var(--query); }
ol { padding-left: 2.2rem; }
li { margin: .45rem 0; }
li .number { color: var(--quiet); font-variant-numeric: tabular-nums; margin-right: .6rem; }
.token { white-space: pre-wrap; }
.query { color: var(--query); font-weight: 700; text-decoration: underline; }
.key { color: var(--key); font-weight: 700; text-decoration: underline dotted; }
.scroll { overflow-x: auto; }
</style></head><body>
<h1>What heads do</h1><p class="facts" id="facts"></p>
<div id="metrics" role="group" aria-label="Metric"></div><p id="meaning"></p>
<div class="scroll"><table class="heads" id="heads"></table></div>
<h2 id="title"></h2><div id="bars"></div>
<p class="facts">The <span class="query">query</span> attends to the <span class="key">key</span> with the weight in front of the text.</p>
<ol id="examples"></ol>
<script id="data" type="application/json">)page";

inline constexpr std::string_view kPageEnd = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const make = (tag, text, name) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
};
let metric = 0, cell = 0;
at("facts").textContent = data.facts;

function drawMetrics() {
  at("metrics").replaceChildren(...data.metrics.map((one, i) => {
    const button = make("button", one.title);
    button.ariaPressed = String(i === metric);
    button.onclick = () => { metric = i; showBest(); };
    return button;
  }));
  at("meaning").textContent = data.metrics[metric].meaning;
}

function drawHeads() {
  const heads = data.metrics[metric].heads, means = heads.map(head => head.mean).filter(mean => mean !== null);
  const low = Math.min(...means), high = Math.max(...means), rows = [make("tr")];
  rows[0].append(make("th"));
  for (let h = 0; h < data.heads; ++h) rows[0].append(make("th", "head " + h));
  for (let l = 0; l < data.layers; ++l) {
    const row = make("tr");
    row.append(make("th", "layer " + l));
    for (let h = 0; h < data.heads; ++h) {
      const i = l * data.heads + h, mean = heads[i].mean, isKnown = mean !== null;
      const part = isKnown && high > low ? (mean - low) / (high - low) : 0;
      const place = make("td"), button = make("button", isKnown ? mean.toFixed(3) : "–");
      button.style.background = "rgba(33, 102, 172, " + (0.06 + 0.84 * part).toFixed(3) + ")";
      if (part > 0.5) button.style.color = "#fff";
      button.title = "L" + l + "H" + h + (isKnown ? ": mean " + mean.toPrecision(6) + ", spread " + heads[i].spread.toPrecision(4)
        : ": no text has what this measures");
      button.ariaPressed = String(i === cell);
      button.onclick = () => { cell = i; draw(); };
      place.append(button);
      row.append(place);
    }
    rows.push(row);
  }
  at("heads").replaceChildren(...rows);
}

function drawBars(head) {
  const space = "http://www.w3.org/2000/svg", width = 10, height = 60;
  const bins = head.histogram, most = Math.max(...bins, 1), top = data.metrics[metric].top;
  const drawing = document.createElementNS(space, "svg");
  const set = (element, values) => { for (const name in values) element.setAttribute(name, values[name]); };
  set(drawing, { class: "bars", width: bins.length * width, height: height + 2, role: "img", "aria-label": "Histogram of " + head.texts + " texts" });
  bins.forEach((count, i) => {
    const bar = document.createElementNS(space, "rect"), tip = document.createElementNS(space, "title"), tall = count / most * height;
    set(bar, { x: i * width, y: height + 1 - tall, width: width - 1, height: tall + 1 });
    tip.textContent = (i * top / bins.length).toPrecision(3) + " to " + ((i + 1) * top / bins.length).toPrecision(3) + ": " + count + " texts";
    bar.append(tip);
    drawing.append(bar);
  });
  at("bars").replaceChildren(drawing);
}

function drawExamples(head) {
  at("examples").replaceChildren(...head.examples.map(example => {
    const line = make("li");
    line.append(make("span", example.weight.toFixed(4), "number"));
    if (example.first > 0) line.append(make("span", "\u2026 "));
    example.tokens.forEach((token, i) => {
      const names = ["token"];
      if (example.first + i === example.query) names.push("query");
      if (example.first + i === example.key) names.push("key");
      line.append(make("span", token, names.join(" ")));
    });
    if (example.more) line.append(make("span", " \u2026"));
    line.title = data.metrics[metric].title + " of the text: " + example.value.toPrecision(6);
    return line;
  }));
}

function draw() {
  drawMetrics();
  drawHeads();
  const head = data.metrics[metric].heads[cell], layer = Math.floor(cell / data.heads);
  at("title").textContent = "L" + layer + "H" + cell % data.heads + " \u00b7 " + data.metrics[metric].title + ": mean " +
    head.mean.toFixed(4) + ", spread " + head.spread.toFixed(4) + " over " + head.texts + " texts";
  drawBars(head);
  drawExamples(head);
}

function showBest() {
  const means = data.metrics[metric].heads.map(head => head.mean ?? -1);
  cell = means.indexOf(Math.max(...means));
  draw();
}

document.addEventListener("keydown", event => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.heads, ArrowDown: data.heads }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = cell + step;
  if (next < 0 || next >= data.layers * data.heads) return;
  cell = next;
  draw();
  event.preventDefault();
});
showBest();
</script></body></html>
)page";

}  // namespace headlight::app
