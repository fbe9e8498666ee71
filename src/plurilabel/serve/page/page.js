"use strict";
// One page without libraries: views are sections, and the address selects the one shown.

const state = { card: null, cut: null, cuts: null, start: 0, answers: [] };

let shownVersion = 0;
addEventListener("version", ({ detail: version }) => {
  shownVersion = version;
  byId("version").textContent = version ? `version ${version}` : "version 0 (as saved)";
});

const undo = (id, then) => attempt(async () => { await call(`feedback/${id}`, { method: "DELETE" }); await then(); });

// confirm a correction, with a button that undoes it
function acknowledge(done, then) {
  const refitted = state.card.learns === "refit" ? " The model is being refitted." : "";
  say(done.applied ? `Learned in version ${done.version}.` : `Saved.${refitted}`, "Undo", undo(done.corrections[0].id, then));
}

// scores ---------------------------------------------------------------------------------------

// length of a bar: scores that are not probabilities are mapped to [0, 1]
const length = (score) => score == null ? 0 : state.card.scores === "predict_proba"
  ? Math.min(1, Math.max(0, score)) : 1 / (1 + Math.exp(-score));

// what the bars of an explanation mean
function barsMean(scale) {
  if (scale.startsWith("change")) return `Each bar shows the ${scale}.`;
  return `The baseline and the contributions of all features add up to ${{ score: "the score", "log-odds": "the log-odds of the score" }[scale] ?? scale}.`;
}

// a row as a card ------------------------------------------------------------------------------

/* item: features; scores by label; labels that are set, at first those that are predicted; row, its number in the training set;
   issues */
class Card {
  constructor(item, title) {
    this.item = { issues: [], ...item };
    this.title = title;
    this.all = false;
    this.before = null;
    this.element = h("article", { "aria-label": title });
    this.draw();
  }

  isSet(label) {
    return this.item.labels.includes(label);
  }

  // labels above the slider's threshold: shown, never set or sent
  whatIf() {
    if (state.cut == null || !this.item.answer || !state.answers.includes(this)) return null;
    return state.card.labels.filter((label) => this.item.scores[label] > state.cut);
  }

  // the threshold to draw: the slider's, or the model's if it is what this row was predicted by
  line() {
    const { answer, scores } = this.item, cut = state.card.cut;
    if (!answer) return null;
    if (state.cut != null && state.answers.includes(this)) return state.cut;
    return cut != null && state.card.labels.every((label) => scores[label] > cut === answer.includes(label)) ? cut : null;
  }

  chosen() {
    return state.card.labels.filter((label) => this.isSet(label));
  }

  order() {
    const labels = [...state.card.labels].sort((a, b) => this.item.scores[b] - this.item.scores[a]);
    if (this.all || labels.length <= 8) return labels;
    const doubted = new Set(this.item.issues.map((issue) => issue.label));
    return labels.filter((label, i) => i < 6 || this.isSet(label) || doubted.has(label));
  }

  bar(label, line) {
    const score = this.item.scores[label], on = this.isSet(label);
    const change = this.before ? score - this.before[label] : 0;
    const words = [label, score == null ? "no score" : `score ${number(score)}`, on ? "set" : "not set"].join(", ");
    const moved = Math.abs(change) >= 0.005;
    const fill = h("span", { class: "fill", "--v": length(score) });
    return h("li", {}, h("button", {
      type: "button", class: "bar", role: "switch", "aria-checked": String(on), "aria-label": words,
      title: on ? `Remove ${label}` : `Add ${label}`, "data-label": label, onclick: () => this.toggle(label),
    },
      h("span", { class: "box" }),
      h("span", { class: "name" }, label),
      h("span", { class: "track" }, fill, line == null ? null : h("span", { class: "cutline", "--cut": length(line) })),
      h("span", { class: `score ${moved ? (change > 0 ? "up" : "down") : ""}` }, number(score))));
  }

  draw() {
    const item = this.item, labels = this.order(), hidden = state.card.labels.length - labels.length;
    const line = this.line(), whatIf = this.whatIf();
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.label : null;
    put(this.element,
      h("header", {}, h("b", {}, this.title), h("span", {}, item.sure != null ? `certainty ${number(item.sure)}` : "")),
      item.remark ? h("p", { class: "nothing" }, item.remark) : null,
      h("div", {},
        item.corrected ? h("span", { class: "note done" }, "corrected") : null,
        item.issues.slice(0, 4).map((issue) => h("span", { class: "note" }, issue.issue === "wrong" ? `${issue.label}: probably wrong` : `${issue.label}: probably missing`))),
      h("div", { class: "inside" },
        h("div", {}, shown(item.features, this.why ? "large" : "")),
        h("ul", { class: "bars" }, labels.map((label) => this.bar(label, line)))),
      whatIf ? h("p", { class: "nothing what-if" }, `Above ${number(state.cut)}: ${whatIf.join(", ") || "no label"}`) : null,
      h("div", { class: "actions" },
        item.features != null ? h("button", { type: "button", "aria-expanded": String(Boolean(this.why)), onclick: () => this.explain() }, this.why ? "Close" : "Why?") : null,
        hidden > 0 ? h("button", { type: "button", class: "plain", onclick: () => { this.all = true; this.draw(); } }, `all ${state.card.labels.length} labels`) : null),
      this.why ? this.why : null);
    this.element.classList.toggle("open", Boolean(this.why));
    if (focused) this.element.querySelector(`[data-label="${CSS.escape(focused)}"]`)?.focus();
  }

  async toggle(label) {
    const item = this.item;
    const labels = state.card.labels.filter((name) => this.isSet(name) !== (name === label));
    if (this.busy) return;
    this.busy = true;
    const before = item.labels ?? null;
    item.labels = labels;
    this.draw();
    try {
      await this.send(labels);
    } catch (error) {
      item.labels = before;
      this.draw();
      failed(error);
    }
    this.busy = false;
  }

  async send(labels) {
    const item = this.item, near = this.why && state.card.browsable && this.near ? await rowsNow(this.near.map((one) => one.row)) : null;
    const since = shownVersion;
    const correction = item.row != null ? { row: item.row, labels } : { features: item.features, labels };
    const done = await call("feedback", { method: "POST", said: { corrections: [correction] } });
    item.row = done.corrections[0].row;
    item.corrected = true;
    acknowledge(done, () => { say("Undone."); return refresh(); });
    await this.update(near, since);
  }

  // update the scores of this row and of its neighbors
  async update(near, since) {
    const item = this.item;
    this.before = { ...item.scores };
    if (item.row != null && state.card.browsable && item.given) {
      const { rows: [now] } = await call(`data/some?rows=${item.row}`);
      if (now) {
        item.scores = named(now.scores);
        item.issues = now.issues;
        item.sure = now.sure;
        item.labels = now.labels;
        item.answer = now.predicted;
      }
    } else if (item.features != null) {
      const { rows: [now] } = await call("predict", { method: "POST", said: { rows: [item.features], scores: true } });
      item.scores = now.scores ?? item.scores;
      item.answer = now.scores ? now.labels : null;
    }
    if (this.why && near) {
      await this.tell(near);
      const { rows } = await call(`data/moved?since=${since}`);
      const others = rows.filter((row) => row.row !== item.row);
      if (others.length) this.why.prepend(...this.moved(others));
    }
    this.draw();
  }

  moved(rows) {
    return [
      h("h3", {}, "Scores changed by the correction"),
      h("ul", { class: "near" }, rows.map((row) => {
        const changes = changesOf((label, j) => row.change[j], (label, j) => row.scores[j]);
        return h("li", {},
          h("p", { class: "head" }, h("span", {}, `row ${row.row}`)),
          h("div", { class: pictureOf(row.features ?? {}) ? "beside" : "" }, h("div", {}, shown(row.features, "small")),
            h("ul", { class: "deltas" }, changes.map((one) => h("li", {}, h("span", {}, one.label), h("span", {}, number(one.to)), deltaOf(one.change))))));
      })),
    ];
  }

  async explain() {
    if (this.why) {
      this.why = null;
      this.draw();
      return;
    }
    this.why = h("div", { class: "why" }, h("p", { class: "quiet" }, "…"));
    this.draw();
    try {
      await this.tell(null);
    } catch (error) {
      this.why = null;
      failed(error);
    }
    this.draw();
  }

  async tell(before) {
    const { rows: [told] } = await call("explain", { method: "POST", said: { rows: [this.item.features], top: 8 } });
    if (told.neighbors) {
      this.near = told.neighbors.filter((one) => one.row !== this.item.row);
      const now = state.card.browsable ? await rowsNow(this.near.map((one) => one.row)) : new Map();
      put(this.why, this.neighbors(before, now));
    } else {
      put(this.why, this.parts(told.labels));
    }
  }

  neighbors(before, now) {
    const mine = new Set(this.chosen());
    const cards = this.near.map((one) => {
      const earlier = before?.get(one.row), later = now.get(one.row);
      const moved = earlier && later ? changesOf((label) => later.scores[label] - earlier.scores[label], (label) => later.scores[label]) : [];
      return h("li", {},
        h("p", { class: "head" }, h("span", {}, `row ${one.row}${one.corrected ? ", corrected" : ""}`), h("span", {}, `distance ${valueText(one.distance)}`)),
        h("div", { class: pictureOf(one.features ?? {}) ? "beside" : "" },
          h("div", {}, shown(one.features, "small")),
          h("ul", { class: "chips", "aria-label": "Labels of the neighbor" }, one.labels.length ? one.labels.map((label) =>
            h("li", { class: mine.has(label) ? "shared" : "" }, label)) : h("li", {}, "no label"))),
        one.shares.length && !pictureOf(one.features ?? {}) ? h("p", { class: "moved" }, `shares ${one.shares.slice(0, 6).map(plainName).join(", ")}`) : null,
        moved.length ? h("p", { class: "moved" }, "new score: ", moved.map((m, i) => [i ? ", " : "",
          h("span", {}, `${m.label} ${number(m.to)} `, deltaOf(m.change))])) : null);
    });
    return [
      h("h3", {}, "Nearest neighbors"),
      h("p", { class: "quiet" }, before ? "With their current scores." : "The scores depend on their labels; labels shared with this row are highlighted. Correct a label above to see how the scores of the neighbors change."),
      h("ul", { class: "near" }, cards),
    ];
  }

  parts(labels) {
    const body = h("div", {});
    const choose = h("select", { "aria-label": "Label to explain" }, labels.map((one) => h("option", { value: one.label }, `${one.label} (${number(one.score)})`)));
    const draw = () => {
      const one = labels.find((label) => label.label === choose.value);
      const most = Math.max(...one.parts.map((part) => Math.abs(part.adds)), 1e-12);
      put(body,
        Object.entries(one.marks ?? {}).map(([column, marks]) => this.marked(column, marks)),
        h("ul", { class: "parts" }, one.parts.map((part) => h("li", { class: part.adds > 0 ? "for" : "against" },
          h("span", { class: "part", title: part.part }, plainName(part.part)),
          h("span", { class: "axis" }, h("i", { "--v": Math.abs(part.adds) / most })),
          h("span", { class: "number" }, signed(part.adds))))),
        one.parts.length ? null : h("p", { class: "quiet" }, "No feature of this row changes the score."),
        h("p", { class: "quiet" }, `Baseline ${number(one.base)}. ${barsMean(one.adds_up_to)}`));
    };
    choose.addEventListener("change", draw);
    draw();
    return [h("h3", {}, "Evidence for and against ", choose), body];
  }

  marked(column, marks) {
    const features = this.item.features;
    return h("p", { class: "marked" }, markedText(typeof features === "string" ? features : features[column] ?? "", marks));
  }
}

// the three labels whose scores changed most
const changesOf = (change, to) => state.card.labels.map((label, j) => ({ label, change: change(label, j), to: to(label, j) }))
  .filter((one) => Math.abs(one.change) >= 0.0005).sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, 3);
const deltaOf = (change) => h("span", { class: `delta ${change > 0 ? "up" : "down"}` }, `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(3)}`);

// text__red, numbers__length: hide the kind of the column
const plainName = (name) => name.replace(/^(text|numbers|categories|dates)[^_]*__/, "");
const named = (scores) => Object.fromEntries(state.card.labels.map((label, j) => [label, scores[j]]));

async function rowsNow(rows) {
  if (!rows.length) return new Map();
  const found = await call(`data/some?rows=${rows.join(",")}`);
  return new Map(found.rows.map((row) => [row.row, { ...row, scores: named(row.scores) }]));
}

// ask ------------------------------------------------------------------------------------------

async function ask(event) {
  event?.preventDefault();
  const text = byId("rows").value.trim();
  byId("ask-error").textContent = "";
  if (!text) return;
  try {
    const { rows, features } = await predicted(text);
    state.answers = rows.slice(0, 60).map((row, i) => new Card({ ...row, scores: row.scores ?? {}, answer: row.scores ? row.labels : null, features: features[i] }, `Row ${i}`));
    put(byId("answers"), state.answers.map((card) => card.element));
    byId("save-answers").hidden = false;
    byId("save-answers").onclick = () => saveAs(new Blob([predictionsCsv(rows, features)], { type: "text/csv" }), "predictions.csv");
    if (rows.length > 60) byId("answers").append(h("p", { class: "quiet" }, `Showing the first 60 of ${rows.length} rows.`));
  } catch (error) {
    byId("ask-error").textContent = error.message;
    put(byId("answers"));
  }
}

// all rows that were sent, with their labels and scores; a formula is written as text
function predictionsCsv(rows, features) {
  const columns = typeof features[0] === "string" ? ["text"] : state.card.columns.map((column) => column.name);
  const cell = (value) => value == null ? "" : `"${String(value).replace(/^(?=[=+@\t\r]|-(?![\d.]))/, "'").replace(/"/g, '""')}"`;
  const scored = rows[0]?.scores ? state.card.labels : [];
  const lines = rows.map((row, i) => [...columns.map((name) => columns.length === 1 && typeof features[i] === "string" ? features[i] : features[i][name]), row.labels.join(";"), ...scored.map((label) => row.scores?.[label])]);
  return [[...columns, "labels", ...scored.map((label) => `score: ${label}`)], ...lines].map((line) => `${line.map(cell).join(",")}\n`).join("");
}

async function predicted(text) {
  let rows;
  if (state.card.texts) rows = text.split(/\n\s*\n|\n/).filter((line) => line.trim());
  else if (/^[[{]/.test(text)) {
    try {
      rows = text.startsWith("{") && text.includes("\n{") ? text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line)) : JSON.parse(text);
    } catch (error) { throw new Error(`Invalid JSON: ${error.message}`); }
    if (!Array.isArray(rows)) rows = [rows];
    if (rows.length && typeof rows[0] === "number") rows = [rows];
  } else {
    const only = state.card.columns.filter((column) => column.kind === "text");
    if (state.card.columns.length === 1 && only.length === 1 && text.split("\n")[0].trim() !== only[0].name) {
      rows = text.split("\n").filter((line) => line.trim()).map((line) => ({ [only[0].name]: line }));
    } else rows = fromCsv(text);
  }
  const said = { rows, scores: state.card.scores != null };
  const answer = await call("predict", { method: "POST", said });
  return { rows: answer.rows, features: rows.map((row) => Array.isArray(row) ? Object.fromEntries(state.card.columns.map((column, j) => [column.name, row[j]])) : row) };
}

// commas, semicolons or tabs; quotes may hold line breaks
function fromCsv(text) {
  const head = text.split("\n")[0];
  const sep = [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  const lines = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i], line = lines[lines.length - 1];
    if (quoted) {
      if (letter === '"' && text[i + 1] === '"') { line[line.length - 1] += '"'; i++; }
      else if (letter === '"') quoted = false;
      else line[line.length - 1] += letter;
    } else if (letter === '"') quoted = true;
    else if (letter === sep) line.push("");
    else if (letter === "\n") lines.push([""]);
    else if (letter !== "\r") line[line.length - 1] += letter;
  }
  const names = lines.shift().map((name) => name.trim());
  const kinds = Object.fromEntries(state.card.columns.map((column) => [column.name, column.kind]));
  const missing = state.card.columns.filter((column) => !names.includes(column.name));
  if (missing.length && !state.card.sparse) throw new Error(`The first line must name the columns. Missing: ${missing.slice(0, 3).map((column) => column.name).join(", ")}${missing.length > 3 ? ", …" : ""}`);
  return lines.filter((line) => line.length > 1 || line[0].trim()).map((line) => Object.fromEntries(names.map((name, j) => {
    const cell = (line[j] ?? "").trim();
    if (cell === "") return [name, null];
    return [name, kinds[name] === "numbers" && !Number.isNaN(Number(cell)) ? Number(cell) : cell];
  }).filter(([name]) => name in kinds)));
}

async function example() {
  const documented = await call("openapi.json");
  const [row] = documented.paths["/predict"].post.requestBody.content["application/json"].example.rows;
  byId("rows").value = typeof row === "string" ? row : JSON.stringify(row, null, Object.keys(row).length > 12 ? 0 : 1);
  await ask(null, false);
}

// the cut --------------------------------------------------------------------------------------

async function showCut(label = "") {
  const panel = byId("cut-panel");
  if (!state.card.browsable) {
    if (state.card.scores === "predict_proba") drawCut(panel, null, "");
    return;
  }
  // out-of-fold scores may take minutes: the page works meanwhile
  const turn = (showCut.turn = (showCut.turn ?? 0) + 1), started = Date.now();
  const patience = setTimeout(() => { panel.hidden = false; put(panel, h("p", { class: "quiet", role: "status" }, "Computing precision and recall by threshold, from models that were not fitted on the row…")); }, 300);
  try {
    const cuts = await call(`data/cuts${label ? `?label=${encodeURIComponent(label)}` : ""}`);
    clearTimeout(patience);
    if (turn === showCut.turn) drawCut(panel, (state.cuts = cuts), label);
  } catch (error) {
    clearTimeout(patience);
    if (turn !== showCut.turn) return;
    if (Date.now() - started > 5000) { setTimeout(() => { if (turn === showCut.turn) showCut(label); }, 1000); return; }
    put(panel, h("p", { class: "quiet" }, error.message));
  }
}

function drawCut(panel, cuts, label) {
  panel.hidden = false;
  const low = cuts ? cuts.cuts[0] : 0, high = cuts ? cuts.cuts[cuts.cuts.length - 1] : 1;
  const width = 460, height = 150, left = 30, bottom = 20;
  const x = (cut) => left + (cut - low) / ((high - low) || 1) * (width - left - 6), y = (v) => 6 + (1 - v) * (height - bottom - 6);
  const path = (values) => values.map((v, i) => `${i ? "L" : "M"}${x(cuts.cuts[i]).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const mark = h("line", { class: "mark", y1: 2, y2: height - bottom });
  const figures = h("dl", { class: "figures-now" });
  const start = state.card.cut ?? (low + high) / 2;
  const slider = h("input", { type: "range", id: "cut", min: low, max: high, step: (high - low) / 100 || 0.01, value: state.cut ?? start, "aria-label": "Preview of one threshold for all labels" });
  const shownCut = h("output", { for: "cut" });
  const set = (cut) => { state.cut = cut; update(); for (const card of state.answers) card.draw(); };
  const back = h("button", { type: "button", class: "plain back", onclick: () => { slider.value = start; set(null); slider.focus(); } }, "Reset");
  const update = () => {
    const cut = state.cut;
    shownCut.textContent = cut == null ? "as predicted" : `above ${number(cut)}`;
    back.classList.toggle("away", cut == null); // keeps its place in the layout
    mark.classList.toggle("away", cut == null && state.card.cut == null);
    mark.setAttribute("x1", x(cut ?? start));
    mark.setAttribute("x2", x(cut ?? start));
    if (!cuts) return;
    const i = cut == null ? -1 : cuts.cuts.reduce((best, c, j) => Math.abs(c - cut) < Math.abs(cuts.cuts[best] - cut) ? j : best, 0);
    const now = (name) => i < 0 ? cuts.model[name] : cuts[name][i];
    const rows = { Precision: now("precision"), Recall: now("recall"), "F1": now("f1"), "Labels per row": now("per_row") };
    put(figures, Object.entries(rows).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, number(value)))));
  };
  slider.addEventListener("input", () => set(+slider.value));
  const choose = h("select", { onchange: (event) => showCut(event.target.value) },
    h("option", { value: "" }, "all labels"), state.card.labels.map((name) => h("option", { value: name, selected: name === label }, name)));
  const ticks = [0, 0.5, 1].map((v) => [h("line", { class: "grid", x1: left, x2: width - 6, y1: y(v), y2: y(v) }), h("text", { class: "tick", x: left - 6, y: y(v) + 4, "text-anchor": "end" }, String(v))]);
  const ends = [low, (low + high) / 2, high].map((v, i) => h("text", { class: "tick", x: x(v), y: height - 4, "text-anchor": ["start", "middle", "end"][i] }, number(v)));
  put(panel,
    cuts ? h("figure", {}, h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision, recall and F1 by threshold" },
      ...ticks.flat(), ...ends,
      h("path", { class: "line s0", d: path(cuts.precision) }), h("path", { class: "line s1", d: path(cuts.recall) }), h("path", { class: "line s2", d: path(cuts.f1) }), mark),
    h("ul", { class: "legend" }, h("li", { class: "s0" }, "precision"), h("li", { class: "s1" }, "recall"), h("li", { class: "s2" }, "F1"))) : null,
    h("div", { class: "cut-ask" },
      h("label", { for: "cut" }, "Preview one threshold for all labels: ", shownCut), slider,
      h("p", { class: "quiet" }, "Predictions and corrections do not change. ", back),
      cuts ? h("label", {}, "Measures for ", choose) : null,
      figures));
  update();
}

// browse ---------------------------------------------------------------------------------------

async function browse(more = false) {
  const form = byId("filters");
  state.start = more ? state.start + 20 : 0;
  byId("below-shown").textContent = number(+form.below.value);
  const said = new URLSearchParams({
    label: form.label.value, having: form.having.value, sort: form.sort.value, below: form.below.value,
    find: form.find.value, issues: form.issues.checked, start: state.start, most: 20,
  });
  const turn = (browse.turn = (browse.turn ?? 0) + 1);
  try {
    const found = await call(`data/rows?${said}`);
    if (turn !== browse.turn) return;
    const cards = found.rows.map((row) => new Card({ ...row, given: true, answer: row.predicted, scores: named(row.scores) }, `Row ${row.row}`).element);
    if (more) byId("rows-found").append(...cards);
    else put(byId("rows-found"), cards.length ? cards : h("p", { class: "empty" }, "No matching rows."));
    byId("found").textContent = `${counted(found.total, "row")}. Scores come from models that were not fitted on the row.`;
    byId("more").hidden = state.start + 20 >= found.total;
  } catch (error) {
    byId("found").textContent = error.message;
    put(byId("rows-found"));
  }
}

// labels ---------------------------------------------------------------------------------------

async function showPairs() {
  try {
    const found = await call("data/pairs");
    const many = found.labels.length > 14;
    byId("map").classList.toggle("many", many);
    const cell = (i, j) => {
      const n = found.together[i][j], share = n / Math.max(found.together[i][i], 1);
      const words = i === j ? `${found.labels[i]}: ${counted(n, "row")}` : `${found.labels[j]} in ${Math.round(100 * share)}% of the ${counted(found.together[i][i], "row")} with ${found.labels[i]}`;
      return h("td", { "--v": i === j ? 0 : share.toFixed(3), title: words, class: i === j ? "self" : "" },
        many ? h("span", { class: "quiet" }, "") : i === j ? n.toLocaleString("en") : `${Math.round(100 * share)}%`);
    };
    put(byId("map"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Labels that occur together" }, h("table", { class: "heat" },
      h("caption", {}, h("span", {}, `${counted(found.rows, "row")}. The diagonal shows the number of rows with the label.`)),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "rows with"), found.labels.map((name) => h("th", { scope: "col", title: name }, h("span", {}, name))))),
      h("tbody", {}, found.labels.map((name, i) => h("tr", {}, h("th", { scope: "row", class: "name" },
        h("a", { href: "#browse", onclick: () => { byId("filters").label.value = name; byId("filters").having.value = "with"; } }, name)),
      found.labels.map((_, j) => cell(i, j))))))));
  } catch (error) { put(byId("map"), h("p", { class: "empty" }, error.message)); }
}

// model ----------------------------------------------------------------------------------------

const LEARNS = {
  exact: "learned immediately, by exact updates",
  refit: "learned by refitting on all rows in the background",
  kept: "saved but not learned; start with --data to learn them",
};

const MEASURES = {
  f1: "F1", micro_f1: "Micro F1", macro_f1: "Macro F1", subset_accuracy: "Subset accuracy", hamming_loss: "Hamming loss",
  average_precision: "Average precision", ranking_loss: "Ranking loss", one_error: "One error",
};
const KINDS = { numbers: "numeric", categories: "categorical", dates: "date", text: "text" };

const versions = (found) => Object.entries(found).map((pair) => pair.join(" ")).join(", ");

async function showModel() {
  await loadCard();
  const card = state.card, kinds = {};
  for (const column of card.columns) kinds[column.kind] = (kinds[column.kind] ?? 0) + 1;
  const facts = {
    Learner: h("code", {}, card.notes.learner ?? card.learner),
    Labels: `${card.labels.length}: ${card.labels.slice(0, 12).join(", ")}${card.labels.length > 12 ? ", …" : ""}`,
    Input: card.texts ? "texts" : Object.entries(kinds).map(([kind, n]) => counted(n, `${KINDS[kind] ?? kind} column`)).join(", "),
    Rows: card.rows.toLocaleString("en") + (card.rows === card.rows_given ? "" : `, ${card.rows_given.toLocaleString("en")} before corrections`),
    ...(card.cut == null ? {} : { Threshold: number(card.cut) }),
    Scores: card.scores === "predict_proba" ? "probabilities" : card.scores ? "decision values" : "none",
    Corrections: `${card.corrections.in_force ? `${card.corrections.in_force} in effect` : "none yet"}; ${LEARNS[card.learns]}`,
    "Saved with": versions(card.saved_with) || "–",
    "Runs with": versions(card.runs_with),
  };
  const measures = Object.keys(MEASURES).filter((name) => typeof card.measures[name] === "number");
  put(byId("card"), h("div", { class: "grid2" },
    h("dl", {}, Object.entries(facts).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    measures.length ? h("div", { class: "scroll" }, h("table", {}, h("caption", {}, h("span", {}, "On held-out rows")),
      h("tbody", {}, measures.map((name) => h("tr", {}, h("th", { scope: "row" }, MEASURES[name]), h("td", {}, card.measures[name].toFixed(4))))))) : null),
  card.remarks.map((remark) => h("p", { class: "quiet" }, `Note: ${remark}`)));
  const { corrections } = await call("feedback?most=100");
  put(byId("history"), corrections.length ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Corrections" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Version", "Time", "Row", "Labels", ""].map((name, j) => h("th", { scope: "col", class: j === 3 ? "text" : "" }, name)))),
    h("tbody", {}, corrections.map((one) => h("tr", {}, h("th", { scope: "row" }, String(one.id)),
      h("td", {}, new Date(one.time).toLocaleString()), h("td", {}, `${one.row}${one.new ? " (new)" : ""}`),
      h("td", { class: "text" }, one.undoes ? `undoes ${one.undoes}` : one.labels.join(", ") || "no label"),
      h("td", {}, one.undoes ? "" : one.undone ? h("span", { class: "quiet" }, "undone") : h("button", {
        type: "button", class: "plain", "aria-label": `Undo correction ${one.id}`,
        onclick: undo(one.id, showModel),
      }, "undo"))))))) : h("p", { class: "empty" }, "No corrections yet. Click a label of a row to correct it."));
}

const save = (all) => attempt(() => download(`feedback/export?all=${all}`, all ? "rows.csv" : "corrections.csv"));

// views ----------------------------------------------------------------------------------------

const VIEWS = { ask: () => { showCut(); }, browse: () => browse(), pairs: showPairs, model: showModel };

async function refresh() {
  const view = viewNow(VIEWS);
  if (view === "ask") { if (byId("rows").value.trim()) await ask(); await showCut(); } else await VIEWS[view]();
}

const show = () => showView(VIEWS, state.card.name);

async function loadCard() {
  const card = (state.card = await call("model"));
  byId("name").textContent = card.name;
  const fact = (n, noun) => h("li", {}, h("b", {}, n.toLocaleString("en")), ` ${noun}${n === 1 ? "" : "s"}`);
  put(byId("facts"), h("li", {}, h("b", {}, card.kind)), fact(card.labels.length, "label"), card.texts ? null : fact(card.columns.length, "column"),
    card.rows ? fact(card.rows, "row") : null, card.corrections.in_force ? fact(card.corrections.in_force, "correction") : null);
}

async function begin() {
  try {
    await loadCard();
  } catch (error) {
    byId("name").textContent = "plurilabel";
    byId("ask").hidden = false;
    byId("ask-error").textContent = error.message;
    return;
  }
  const filters = byId("filters");
  filters.label.append(...state.card.labels.map((name) => h("option", { value: name }, name)));
  filters.addEventListener("submit", (event) => event.preventDefault());
  let timer;
  filters.addEventListener("input", () => {
    byId("below-shown").textContent = number(+filters.below.value);
    clearTimeout(timer);
    timer = setTimeout(() => browse(), 200);
  });
  byId("more").addEventListener("click", () => browse(true));
  byId("ask-form").addEventListener("submit", ask);
  byId("example").addEventListener("click", attempt(example));
  byId("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    byId("rows").value = await file.text();
    await ask();
  });
  byId("export").addEventListener("click", save(false));
  byId("export-all").addEventListener("click", save(true));
  byId("rows").placeholder = state.card.texts ? "One text on each line" : state.card.columns.slice(0, 8).map((column) => column.name).join(",") + (state.card.columns.length > 8 ? ",…" : "");
  addEventListener("hashchange", show);
  await show();
  follow("events", attempt(async (now) => {  // what others correct, and refits
    if (!now || now.version === shownVersion) return;
    dispatchEvent(new CustomEvent("version", { detail: now.version }));
    await loadCard();
    if (viewNow(VIEWS) !== "ask" && !document.querySelector("article.open")) await VIEWS[viewNow(VIEWS)]();
  }));
}

begin();
