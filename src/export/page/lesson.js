// A lesson's cards, a worksheet, or the table of what a class answered.
const main = document.getElementById("main");
document.getElementById("title").textContent = data.title || W.results;

/// Each kind of question: draws itself into `place` and calls done(isRight) with each answer.
const QUESTIONS = {
  choice(question, place, done, seed) {
    const name = `choice${seed}-${place.id}`;
    const options = shuffled(question.options.length, seed).map((i) =>
      make("label", {}, make("input", {type: "radio", name, value: i}), " ", rich("span", question.options[i])));
    place.append(...options, button(W.check, () => {
      const chosen = place.querySelector("input:checked");
      if (chosen) done(Number(chosen.value) === question.right);
    }));
  },
  number(question, place, done) {
    const input = make("input", {class: "number", inputmode: "decimal", autocomplete: "off"});
    const check = () => {
      const value = typedNumber(input.value);
      done(value !== null && passes(question, value), value === null ? W.number : null);
    };
    place.append(make("label", {}, rich("span", question.label), input), button(W.check, check));
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") check(); });
  },
  order(question, place, done, seed) {
    const list = make("ol", {class: "order"});
    const move = (item, step) => {
      const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
      if (other) step < 0 ? other.before(item) : other.after(item);
      item.focus();
    };
    let order = shuffled(question.options.length, seed);
    if (order.every((value, i) => value === i)) order = order.reverse();
    for (const i of order) {
      const item = make("li", {tabindex: 0, draggable: "true", "data-option": i}, rich("span", question.options[i]));
      item.append(button("↑", () => move(item, -1), W.up), button("↓", () => move(item, 1), W.down));
      item.addEventListener("keydown", (event) => {
        const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
        if (!step || !event.altKey || place.disabled) return;
        event.preventDefault();
        move(item, step);
      });
      item.addEventListener("dragstart", () => { list.dragged = item; });
      item.addEventListener("dragover", (event) => {
        event.preventDefault();
        const dragged = list.dragged;
        if (!dragged || dragged === item || place.disabled) return;
        item.getBoundingClientRect().top < dragged.getBoundingClientRect().top ? item.before(dragged) : item.after(dragged);
      });
      list.append(item);
    }
    place.append(make("p", {class: "note"}, W.order), list, button(W.check, () =>
      done([...list.children].every((item, i) => Number(item.dataset.option) === i))));
  },
  explain(question, place, done) {
    const text = make("textarea", {"aria-label": question.label});
    const answer = make("div", {hidden: true}, ...question.answer.map((paragraph) => rich("p", paragraph)));
    const marks = [W.had, W.partly, W.notYet].map((word, mark) => button(word, () => done(true, null, mark === 0)));
    answer.append(make("div", {class: "fields"}, ...marks));
    const compare = button(W.compare, () => {
      const letters = (text.value.match(/\p{L}/gu) || []).length;
      if (letters < 20) return done(null, W.write);
      answer.hidden = false;
      compare.hidden = true;
      text.readOnly = true;
      done(null, "");
    });
    place.append(make("label", {}, rich("span", question.label), text), compare, answer);
  },
  row_by_hand(question, place, done) {
    const fields = question.right.map((_, i) => make("input", {inputmode: "decimal", autocomplete: "off"}));
    const labels = fields.map((field, i) => make("label", {}, named(i, question.fields[i]), field));
    place.append(make("p", {}, `${question.of}, ${W.row} ${question.row}`), make("div", {class: "fields"}, ...labels), button(W.check, () => {
      const isRight = fields.map((field, i) => {
        const value = typedNumber(field.value);
        const fits = value !== null && Math.abs(value - question.right[i]) <= question.within + 1e-9;
        field.readOnly = fits;  // the right fields stay
        field.classList.toggle("right", fits);
        return fits;
      });
      done(isRight.every((fits) => fits));
    }));
  },
  click(question, place, done, seed, surface) {
    place.append(make("p", {class: "note"}, W.pick));
    const [row, column] = question.right;
    const end = choosable(surface, (cell) => {
      const isRight = Number(cell.dataset.row) === row && Number(cell.dataset.column) === column;
      done(isRight);
      if (isRight) end();
    });
  },
  draw(question, place, done, seed, surface) {
    place.append(make("p", {class: "note"}, W.draw));
    const cells = cellsOf(surface), columns = question.right[0].length, brush = cells.map(() => 0);
    const end = choosable(surface, (cell, digit) => {
      const at = cells.indexOf(cell);
      brush[at] = digit === null ? (brush[at] + 1) % 4 : digit;
      cell.removeAttribute("style");
      paint(cell, [0, 0.25, 0.5, 1][brush[at]], 1, false);
      if (brush[at] === 0) cell.removeAttribute("style");
      cell.setAttribute("aria-label", [0, 0.25, 0.5, 1][brush[at]]);
    });
    place.append(button(W.check, () => {
      const values = brush.map((step) => [0, 0.25, 0.5, 1][step]);
      const painted = question.right.map((_, row) => values.slice(row * columns, (row + 1) * columns));
      const score = overlap(painted, question.right), isRight = score >= question.atLeast;
      if (isRight) end();
      done(isRight, `${W.overlap}: ${score.toFixed(2)}.`);
    }));
  },
};

function button(text, use, label = null) { return make("button", {type: "button", onclick: use, "aria-label": label, title: label}, text); }

const isOfMap = (question) => question.kind === "click" || question.kind === "draw";

/// Can the page ask all of a card's questions, so that it completes the task?
function canAsk(card) {
  return !card.isLive && card.questions.length > 0 && card.questions.every((question) => !isOfMap(question) || card.maps.length > 0);
}

function cardView(card, index) {
  const words = make("div", {class: "words"}, rich("h2", `${index + 1}  ${card.title}`), ...card.text.map((text) => rich("p", text)));
  const maps = make("div", {class: "maps"}), section = make("section", {class: "card", hidden: true}, words, maps);
  const state = {section, isAsked: canAsk(card), isDone: !card.task, isMissed: false, later: () => {}};
  const draw = (isAnswered) => {
    maps.replaceChildren(...card.maps.map((map) => mapTable(map, {blank: map.conceals && !isAnswered})));
    if (!isAnswered && card.maps.some((map) => map.conceals)) maps.append(make("p", {class: "note"}, W.concealed));
    if (card.numbers && (isAnswered || !card.conceals)) maps.append(numbersTable(card.numbers));
  };
  draw(false);
  if (!card.maps.length && !card.numbers && card.view !== "head") words.append(make("p", {class: "note"}, `${W.view} ${card.view}`));
  if (card.image) words.append(make("img", {src: card.image, alt: ""}));
  if (!card.task) return state;
  words.append(rich("p", card.task, {class: "task"}));
  const reveal = make("div", {hidden: true}, ...card.reveal.map((text) => rich("p", text)));
  const finish = (says) => {
    state.isDone = true;
    section.classList.add("done");
    reveal.hidden = false;
    if (card.conceals) draw(true);
    if (says) reveal.prepend(make("p", {class: "good"}, says));
    state.later();
  };
  if (!state.isAsked) {
    words.append(make("p", {class: "note"}, `${W.live} headlight view --lesson ${data.file} --card ${index + 1}`));
    if (card.reveal.length || card.conceals) {
      const show = button(W.reveal, () => { show.remove(); finish(null); });
      words.append(show);
    }
    words.append(reveal);
    return state;
  }
  let left = card.questions.length;
  card.questions.forEach((question, i) => {
    const place = make("fieldset", {class: "question", id: `q${index}-${i}`}), says = make("p", {role: "status"});
    const seed = Math.floor(Math.random() * 1e6);
    QUESTIONS[question.kind](question, place, (isRight, note = null, isKnown = true) => {
      if (isRight === false || !isKnown) state.isMissed = true;
      says.className = isRight ? "good" : "hint";
      says.replaceChildren(isRight ? `✓ ${note || W.right}` : note || "");
      if (isRight === false) says.append(note ? " " : "", rich("span", question.hint));
      if (!isRight) return;
      place.disabled = true;
      if (--left === 0) finish(null);
    }, seed, maps.querySelector("table.map"));
    words.append(place, says);
  });
  words.append(reveal);
  return state;
}

function showLesson() {
  document.getElementById("subtitle").textContent = `${data.summary} · ${data.minutes} ${W.minutes} · ${W.indices}`;
  const states = data.cards.map(cardView), place = make("span", {class: "note", "aria-live": "polite"});
  const end = make("section", {class: "card", hidden: true});
  const back = button(W.back, () => go(at - 1)), next = make("button", {type: "button", class: "next", onclick: () => go(at + 1)});
  let at = 0;
  const go = (to) => {
    at = Math.max(0, Math.min(to, states.length));
    states.forEach((state, i) => { state.section.hidden = i !== at; });
    end.hidden = at < states.length;
    if (!end.hidden) {
      const asked = states.filter((state) => state.isAsked), right = asked.filter((state) => state.isDone && !state.isMissed);
      end.replaceChildren(make("h2", {}, `${right.length} ${W.of} ${asked.length} ${W.firstTry}`),
        button(W.again, () => location.reload()));
    }
    back.disabled = at === 0;
    next.hidden = at === states.length;
    place.textContent = at < states.length ? `${at + 1} ${W.of} ${states.length}` : "";
    name();
    window.scrollTo(0, 0);
  };
  const name = () => {
    const state = states[at];
    next.textContent = !state || state.isDone ? (at + 1 === states.length ? W.finish : W.next) : W.skip;
  };
  states.forEach((state) => { state.later = name; });
  main.append(...states.map((state) => state.section), end, make("nav", {}, back, next, place));
  go(0);
}

/// What would give an answer away in the texts of later cards: the right option, or the number as it is written.
function answersOf(question) {
  if (question.kind === "choice") return [question.options[question.right]];
  const numbers = question.kind === "number" ? [question.right] : question.kind === "row_by_hand" ? question.right : [];
  return numbers.flatMap((value) => [String(value), ...[1, 2, 3, 4].map((digits) => value.toFixed(digits))]).map((text) => text.replace(".", W.point));
}

function givesAway(text, answers) {
  return answers.some((answer) => {
    const escaped = answer.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`(^|[^\\p{L}\\p{N}.,])${escaped}($|[^\\p{L}\\p{N}])`, "iu").test(text);
  });
}

function questionOnPaper(question, seed) {
  const place = make("div");
  if (question.kind === "choice" || question.kind === "order") {
    for (const i of shuffled(question.options.length, seed)) {
      place.append(make("p", {}, question.kind === "choice" ? "○ " : make("span", {class: "box"}), " ", rich("span", question.options[i])));
    }
    if (question.kind === "order") place.prepend(make("p", {class: "note"}, W.ordered));
  } else if (question.kind === "number") place.append(make("p", {}, rich("span", question.label), ": ", make("span", {class: "box"})));
  else if (question.kind === "explain") place.append(rich("p", question.label), ...[1, 2, 3, 4].map(() => make("span", {class: "line"})));
  else if (question.kind === "row_by_hand") {
    place.append(make("p", {}, `${W.fill}: ${question.of}, ${W.row} ${question.row}`), make("div", {class: "fields"},
      ...question.right.map((_, i) => make("label", {}, named(i, question.fields[i]), make("br"), make("span", {class: "box"})))));
  } else place.append(make("p", {class: "note"}, question.kind === "click" ? W.mark : W.paint));
  return place;
}

function answerOnPaper(question) {
  const text = {
    choice: () => question.options[question.right],
    order: () => question.options.join(" → "),
    number: () => `${question.label}: ${String(Number(question.right.toPrecision(4))).replace(".", W.point)}`,
    explain: () => question.answer.join(" "),
    row_by_hand: () => question.right.map((value) => shown(value, 3)).join("   "),
    click: () => `${W.row} ${question.right[0]}, ${W.column} ${question.right[1]}`,
    draw: () => "",
  }[question.kind]();
  return rich("p", text, {class: "good"});
}

function showWorksheet() {
  document.getElementById("subtitle").textContent = `${data.summary} ${W.indices}`;
  main.append(make("p", {class: "note"}, `${W.tasks}: `, make("span", {class: "line"})));
  const answers = make("section", {class: "answers"}, make("h1", {}, `${data.title}: ${W.answers}`));
  const known = [];
  let count = 0;
  data.cards.forEach((card, index) => {
    if (!canAsk(card)) return;
    const number = `${++count}  `;
    const title = givesAway(card.title, known) ? W.question : card.title;
    const sheet = make("section", {class: "sheet"}, rich("h2", number + title),
      ...card.text.filter((text) => !givesAway(text, known)).map((text) => rich("p", text)), rich("p", card.task, {class: "task"}));
    const answer = make("section", {class: "sheet"}, rich("h2", number + card.title));
    if (card.image) sheet.append(make("img", {src: card.image, alt: ""}));
    const isBlank = (map) => map.conceals || card.questions.some((question) => question.kind === "draw");
    sheet.append(...card.maps.map((map) => mapTable(map, {blank: isBlank(map)})));
    card.questions.forEach((question, i) => {
      sheet.append(questionOnPaper(question, 7 * index + i));
      answer.append(answerOnPaper(question));
      known.push(...answersOf(question));
    });
    const clicked = card.questions.find((question) => question.kind === "click");
    answer.append(...card.reveal.map((text) => rich("p", text)));
    answer.append(...card.maps.filter((map) => isBlank(map) || clicked).map((map) => mapTable(map, {marked: clicked ? clicked.right : null})));
    main.append(sheet);
    answers.append(answer);
  });
  count ? main.append(answers) : main.append(make("p", {}, W.none));
}

/// How a card was answered, by its questions' answers in their order: FIRST, LATER or NEVER right, the worst of them.
const FIRST = 2, LATER = 1, NEVER = 0;
function outcomes(answers) {
  const questions = new Map(), cards = new Map();
  for (const answer of answers) {
    const key = JSON.stringify([answer.lesson, answer.card, answer.condition]), before = questions.get(key);
    questions.set(key, before === undefined ? (answer.right ? FIRST : NEVER) : before === NEVER && answer.right ? LATER : before);
  }
  for (const [key, outcome] of questions) {
    const card = JSON.stringify(JSON.parse(key).slice(0, 2));
    cards.set(card, Math.min(cards.get(card) ?? FIRST, outcome));
  }
  return cards;
}

function showResults() {
  const rows = data.files.map((file) => ({name: file.name, cards: outcomes(file.answers)}));
  const columns = [...new Set(rows.flatMap((row) => [...row.cards.keys()]))].map((key) => ({key, parts: JSON.parse(key)}));
  columns.sort((a, b) => (a.parts[0] === b.parts[0] ? a.parts[1] - b.parts[1] : a.parts[0] < b.parts[0] ? -1 : 1));
  const share = (list) => (list.length ? `${Math.round(100 * list.filter((outcome) => outcome === FIRST).length / list.length)} %` : "–");
  const lessons = [...new Set(columns.map((column) => column.parts[0]))];
  const spans = lessons.map((lesson) => columns.filter((column) => column.parts[0] === lesson).length);
  const table = make("table"), mark = (outcome) => (outcome === undefined ? "–" : ["✗", "(✓)", "✓"][outcome]);
  table.append(make("thead", {},
    make("tr", {}, make("td"), ...lessons.map((lesson, i) => make("th", {colspan: spans[i], scope: "colgroup"}, data.titles[lesson] || lesson)), make("td")),
    make("tr", {}, make("th", {scope: "col"}, W.who), ...columns.map((column) => make("th", {scope: "col"}, String(column.parts[1]))), make("th", {scope: "col"}, W.share))));
  table.append(make("tbody", {}, ...rows.map((row) => make("tr", {}, make("th", {scope: "row"}, row.name),
    ...columns.map((column) => make("td", {}, mark(row.cards.get(column.key)))), make("td", {}, share([...row.cards.values()]))))));
  table.append(make("tfoot", {}, make("tr", {}, make("th", {scope: "row"}, W.share),
    ...columns.map((column) => make("td", {}, share(rows.filter((row) => row.cards.has(column.key)).map((row) => row.cards.get(column.key))))),
    make("td", {}, share(rows.flatMap((row) => [...row.cards.values()]))))));
  document.getElementById("subtitle").textContent = W.legend;
  main.append(make("div", {class: "results"}, table));
}

({lesson: showLesson, worksheet: showWorksheet, results: showResults})[kind]();
