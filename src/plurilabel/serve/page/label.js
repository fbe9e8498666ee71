"use strict";
// The page to label with: a row at a time, by keyboard, mouse or touch.

const state = { card: null, row: null, chosen: new Set(), order: [], all: false, why: null, near: null, shownAt: 0, undo: [], past: [], at: -1, me: "", version: 0, start: 0 };
const typing = matchMedia("(pointer: fine)").matches;  // no keyboard pops up on a phone
const FEW = 10;
const keyOf = (place) => String((place + 1) % 10);
const words = (names) => names.join(", ") || "no label";
const percent = (share) => `${Math.floor(100 * share)}%`;

// what is said ---------------------------------------------------------------------------------

async function tell(kind, said, then) {
  const done = await call("say", { method: "POST", said: { person: state.me, kind, said, key: crypto.randomUUID?.() ?? String(Math.random()) } });
  state.version = done.version;
  state.undo.push({ id: done.id, row: said.rows?.[0] });
  await loadCard();
  if (then) say(then, "Undo", undo);
  return done;
}

const undo = attempt(async () => {
  const last = state.undo.pop();
  if (!last) { say("Nothing to undo."); return; }
  await call("say", { method: "POST", said: { person: state.me, kind: "undo", said: { id: last.id } } });
  await loadCard();
  say("Undone.");
  if (last.row != null && viewNow(VIEWS) === "label") await open(last.row); else await VIEWS[viewNow(VIEWS)]();
});

async function loadCard() {
  const card = (state.card = await call("project"));
  state.labels = new Map(card.labels.map((label) => [label.name, label]));
  state.version = card.version;
  byId("name").textContent = card.name;
  byId("version").textContent = `${card.answered.toLocaleString("en")} of ${counted(card.rows, "row")} answered`;
  showWork(card);
  const fact = (n, noun, view) => n ? h("li", {}, h("a", { href: "#review", onclick: () => { byId("filters").which.value = view; } }, h("b", {}, n.toLocaleString("en")), ` ${noun}`)) : null;
  put(byId("facts"), h("li", {}, "You are ", h("button", { type: "button", class: "me", onclick: attempt(askName) }, state.me || "nobody")),
    h("li", {}, h("b", {}, card.labels.length.toLocaleString("en")), card.labels.length === 1 ? " label" : " labels"),
    fact(card.conflicts, card.conflicts === 1 ? "conflict" : "conflicts", "conflicts"), fact(card.flagged, "flagged", "flagged"), fact(card.skipped, "skipped", "skipped"),
    Object.keys(card.people).length > 1 ? h("li", {}, h("b", {}, Object.keys(card.people).length), " people") : null);
}

function showWork(status) {
  byId("work").classList.toggle("gone", !status || Boolean(!status.working && status.problem));
  byId("work").textContent = !status ? "The service does not respond; trying again." : status.working ? `${status.working[0].toUpperCase()}${status.working.slice(1)}…` : status.problem ? `${status.problem[0].toUpperCase()}${status.problem.slice(1)}` : "";
}

// other tabs and people: counts follow, a row that someone else has answered is marked
const followed = attempt(async (status) => {
  showWork(status);
  if (!status || !state.card) return;
  const trained = status.model_version !== state.card.model_version;
  if (status.version === state.version && !trained) { state.card.working = status.working; return; }
  await loadCard();
  if (viewNow(VIEWS) === "label" && state.row) { if (!state.row.answered && !state.chosenByHand) await refreshRow(); }
  else if (["files", "progress"].includes(viewNow(VIEWS))) await VIEWS[viewNow(VIEWS)]();
});

async function refreshRow() {
  const row = await call(`row?row=${state.row.row}&person=${encodeURIComponent(state.me)}`);
  if (row.row === state.row?.row && !state.chosenByHand && !byId("search")?.value) showRow(row, false);
}

function askName() {
  return ask("Who is labeling?", [["name", "Your name, shown beside your answers", state.me || "me"]], "Start", async ({ name }) => {
    state.me = name.trim().replace(/\s+/g, " ");
    localStorage.setItem("person", state.me);
    await loadCard();
  });
}

// a dialog with fields [name, label, value]; resolves when it is closed
function ask(title, fields, action, does) {
  const dialog = byId("dialog"), error = h("p", { class: "error", role: "alert" });
  const inputs = fields.map(([name, label, value, kind]) => h("label", {}, label, kind === "select"
    ? h("select", { name }, value.map((one) => h("option", {}, one))) : h("input", { type: "text", name, value, autocomplete: "off", required: kind !== "optional" })));
  return new Promise((closed) => {
    const form = h("form", { method: "dialog", onsubmit: async (event) => {
      event.preventDefault();
      try {
        await does(Object.fromEntries(new FormData(form)));
        dialog.close();
      } catch (problem) { error.textContent = problem.message; }
    } }, h("h2", { id: "dialog-title" }, title), inputs, error,
    h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, action), h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
    put(dialog, form);
    dialog.onclose = closed;
    dialog.showModal();
    form.querySelector("input, select")?.select?.();
  });
}

// the row --------------------------------------------------------------------------------------

async function next(but) {
  const row = await call(`next?person=${encodeURIComponent(state.me)}${but == null ? "" : `&but=${but}`}`);
  state.at = -1;
  if (row.row == null) {
    state.row = null;
    put(byId("card"), h("article", {}, h("h2", {}, state.card.answered === state.card.rows ? "All rows are answered." : "The remaining rows were skipped, or are reserved for others."), h("p", {}, "Look at ", h("a", { href: "#review" }, "conflicts and doubtful answers"), ", or ", h("a", { href: "#files" }, "save the model"), ".")));
    return;
  }
  showRow(row);
}

async function open(row) {
  showRow(await call(`row?row=${row}&person=${encodeURIComponent(state.me)}`));
  if (viewNow(VIEWS) !== "label") { state.keep = true; location.hash = "#label"; }
}

function showRow(row, fresh = true) {
  Object.assign(state, { row, chosen: new Set(row.labels), why: null, chosenByHand: false });
  if (fresh) Object.assign(state, { all: false, near: null, shownAt: performance.now() });
  const names = state.card.labels.map((label) => label.name);
  // few labels keep their places; of many, the most probable come first
  state.order = names.length <= FEW ? names : ranked(names).slice(0, FEW);
  state.order.push(...[...state.chosen].filter((name) => !state.order.includes(name)));
  draw();
  if (state.card.model && state.card.columns.some((column) => column.kind === "text")) explain(row.row);
}

async function explain(row) {
  const { labels } = await call(`explain?row=${row}`).catch(() => ({ labels: [] }));
  if (state.row?.row !== row || !labels.length) return;
  state.why = new Map(labels.map((one) => [one.label, one.marks ?? {}]));
  put(byId("what"), contents());
}

// probability, or how often the label occurs with those that are chosen
function likely(name) {
  const together = [...state.chosen].flatMap((one) => state.card.together[one] ?? []).filter(([other]) => other === name);
  return Math.max(state.row?.scores[name] ?? 0, ...together.map(([, share]) => 0.9 * share));
}
const ranked = (names) => [...names].sort((a, b) => likely(b) - likely(a) || state.labels.get(b).used - state.labels.get(a).used || state.labels.get(b).rows - state.labels.get(a).rows);

function rankOf(name, text) {
  const low = name.toLowerCase();
  if (low === text) return 0;
  if (low.startsWith(text)) return 1;
  if (low.split(/[\s/_-]+/).some((part) => part.startsWith(text))) return 2;
  return low.includes(text) ? 3 : Infinity;
}
function matches(text) {
  const low = text.trim().toLowerCase(), names = state.card.labels.map((label) => label.name);
  const rank = new Map(names.map((name) => [name, rankOf(name, low)]));
  return ranked(names.filter((name) => rank.get(name) < Infinity)).sort((a, b) => rank.get(a) - rank.get(b));
}

function imageOf(value, column, row) {
  const image = h("img", { alt: `${column}: ${value}`, loading: "lazy" });
  if (/^https?:/.test(value)) image.src = value;
  else call(`image?row=${row}&column=${encodeURIComponent(column)}`).then((answer) => answer.blob()).then((blob) => { image.src = URL.createObjectURL(blob); }).catch(() => { image.alt = `${value} cannot be shown`; });
  return image;
}

function rowContents(features, row, size) {
  const kinds = Object.fromEntries(state.card.columns.map((column) => [column.name, column.kind]));
  const images = Object.keys(features).filter((name) => kinds[name] === "image" && features[name]);
  const others = Object.fromEntries(Object.entries(features).filter(([name]) => !images.includes(name)));
  return [...images.map((name) => imageOf(features[name], name, row)), Object.keys(others).length ? shown(others, size) : null];
}

function contents() {
  const { row } = state, marked = [...state.chosen, ...state.order].find((name) => Object.keys(state.why?.get(name) ?? {}).length);
  const marks = marked ? state.why.get(marked) : {};
  const texts = state.card.columns.filter((column) => column.kind === "text" && row.features[column.name]);
  const several = texts.length > 1;
  const rest = Object.fromEntries(Object.entries(row.features).filter(([name]) => !texts.some((column) => column.name === name)));
  return [
    texts.map(({ name }) => [several ? h("p", { class: "said" }, h("b", {}, name)) : null, h("p", { class: "marked long" }, marks[name] || marks[""] ? markedText(row.features[name], marks[name] ?? marks[""], 0.25) : row.features[name])]),
    marked ? h("p", { class: "said" }, "Highlighted words speak for ", h("b", {}, marked), "; underlined words speak against it.") : null,
    Object.keys(rest).length ? rowContents(rest, row.row, "large") : null,
  ];
}

function choice(name, place, first) {
  const p = state.row.scores[name], on = state.chosen.has(name), about = state.labels.get(name)?.description;
  return h("li", {}, h("button", { type: "button", class: first ? "bar first" : "bar", role: "switch", "aria-checked": String(on), "data-label": name, tabindex: typing ? -1 : 0,
    "aria-label": `${name}${p == null ? "" : `, probability ${number(p)}`}${place < FEW ? `, key ${keyOf(place)}` : ""}`, onclick: () => toggle(name) },
  h("span", { class: "box" }), h("span", { class: "name" }, name), h("span", { class: p == null ? "" : "track" }, p == null ? "" : h("span", { class: "fill", "--v": p })), h("span", { class: "score" }, p == null ? "" : number(p)),
  place < FEW ? h("kbd", {}, keyOf(place)) : null, about ? h("span", { class: "about" }, about) : null));
}

// all labels by group, in order
function grouped() {
  const groups = new Map();
  for (const { name } of state.card.labels) {
    const group = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [...groups].flatMap(([group, names]) => [group ? h("li", { class: "group" }, group) : null, names.map((name) => choice(name, FEW))]);
}

function drawChoices() {
  const text = byId("search").value, found = text ? matches(text) : null;
  const exact = found?.some((name) => name.toLowerCase() === text.trim().toLowerCase());
  const create = text.trim() && !exact ? h("li", {}, h("button", { type: "button", class: found.length ? "bar" : "bar first", onclick: create_(text) }, h("span", {}, "+"), h("span", { class: "name" }, `Add the label “${text.trim()}”`))) : null;
  put(byId("choices"), found ? [found.slice(0, 12).map((name, i) => choice(name, FEW, i === 0)), create] : state.all ? grouped() : state.order.map((name, place) => choice(name, place)));
  byId("first").textContent = found ? found[0] ? `Enter sets ${found[0]}` : `Enter adds ${text.trim()}` : "";
  const hidden = state.card.labels.length - state.order.length;
  byId("all").hidden = hidden <= 0 || Boolean(text);
  byId("all").textContent = state.all ? "Only the suggested labels" : `All ${state.card.labels.length} labels`;
  byId("accept").textContent = state.near?.some((one) => one.on) ? `Accept for ${1 + state.near.filter((one) => one.on).length} rows` : "Accept";
  byId("chosen").textContent = words([...state.chosen]);
}

const create_ = (name) => attempt(async () => {
  await tell("label", { name: name.trim() });
  byId("search").value = "";
  toggle(name.trim().replace(/\s+/g, " "), true);
});

function toggle(name, on = !state.chosen.has(name)) {
  state.chosenByHand = true;
  if (on) state.chosen.add(name); else state.chosen.delete(name);
  if (!state.order.includes(name)) state.order.push(name);
  byId("search").value = "";
  drawChoices();
  if (state.why) put(byId("what"), contents());
  if (typing) byId("search").focus();
}

function draw() {
  const { row, card } = state, others = Object.entries(row.answers).filter(([person]) => person !== state.me);
  const notes = [row.again && "a label was split: which part?", row.conflict && "people disagree", row.flagged && "flagged", row.answered && "answered by you"].filter(Boolean);
  put(byId("card"), h("article", { "aria-label": `Row ${row.row + 1}` },
    h("header", {}, h("b", {}, `Row ${row.row + 1}`), h("span", {}, notes.map((note) => h("span", { class: "note" }, note)))),
    h("div", { class: "desk" },
      h("div", { class: "what-is", id: "what", tabindex: 0, role: "region", "aria-label": "The row" }, contents()),
      h("div", { class: "choose" },
        h("input", { type: "text", id: "search", "aria-controls": "choices", autocomplete: "off", spellcheck: "false", "aria-label": "Find or add a label",
          placeholder: card.labels.length ? "Type to find a label, or to add one" : "Type the name of your first label, then Enter", oninput: drawChoices }),
        h("ul", { class: "bars", id: "choices", "aria-label": "Labels" }),
        h("button", { type: "button", class: "plain", id: "all", onclick: () => { state.all = !state.all; drawChoices(); } }),
        h("p", { class: "said" }, "Chosen: ", h("b", { id: "chosen" })),
        h("div", { class: "actions" },
          h("button", { type: "button", class: "main", id: "accept", onclick: () => accept() }, "Accept"),
          h("button", { type: "button", onclick: () => skip() }, "Skip"),
          h("button", { type: "button", onclick: () => back() }, "Back"),
          h("button", { type: "button", "aria-pressed": String(row.flagged), onclick: () => flag() }, row.flagged ? "Unflag" : "Flag"),
          h("button", { type: "button", onclick: () => comment() }, "Comment"),
          h("button", { type: "button", onclick: () => similar() }, "Similar rows"),
          h("button", { type: "button", onclick: () => undo() }, "Undo")))),
    row.comments.map((one) => h("p", { class: "comment" }, h("b", {}, one.person || "somebody"), `: ${one.text}`)),
    others.length ? h("p", { class: "said" }, others.map(([person, labels], i) => [i ? "; " : "", h("b", {}, person || "somebody"), ` said ${words(labels)}`])) : null,
    h("div", { id: "near" })),
  h("ul", { class: "keys", "aria-label": "Keys" }, [["Enter", "accept"], ["1–0", "set a label"], ["a–z", "find or add a label"], ["→", "skip"], ["←", "back"], ["!", "flag"], [":", "comment"], ["+", "similar rows"], ["Ctrl Z", "undo"]]
    .map(([key, does]) => h("li", {}, h("kbd", {}, key), ` ${does}`))));
  drawChoices();
  drawNear();
  if (typing) byId("search").focus();
}

// actions --------------------------------------------------------------------------------------

const once = (work) => attempt(async (...args) => {  // a second Enter must not answer the next row
  if (state.busy || !state.row) return;
  state.busy = true;
  try { await work(...args); } finally { state.busy = false; }
});

const accept = once(async () => {
  if (!state.me) { await askName(); if (!state.me) return; }
  const { row } = state.row, labels = state.card.labels.map((label) => label.name).filter((name) => state.chosen.has(name));
  const rows = [row, ...(state.near ?? []).filter((one) => one.on).map((one) => one.row)];
  const seconds = Math.min(300, (performance.now() - state.shownAt) / 1000);
  byId("card").firstElementChild.classList.add("saved");
  const final = state.row.conflict || Object.keys(state.row.answers).some((person) => person !== state.me) && state.row.answered;
  await tell("answer", { rows, labels, seconds, ...(final ? { final: true } : {}) }, `Saved for ${rows.length === 1 ? `row ${row + 1}` : `${rows.length} rows`}: ${words(labels)}.`);
  state.past = [...state.past.filter((one) => one !== row), row];
  await next();
});
const skip = once(async () => { const { row } = state.row; await tell("skip", { rows: [row] }, `Row ${row + 1} skipped.`); await next(row); });
const back = once(async () => {
  const at = (state.at < 0 ? state.past.length : state.at) - 1;
  if (at < 0) { say("You have no earlier answers."); return; }
  await open(state.past[at]);
  state.at = at;
});
const flag = once(async () => { const on = !state.row.flagged; await tell("flag", { rows: [state.row.row], on }, on ? "Flagged." : "No longer flagged."); Object.assign(state.row, { flagged: on }); draw(); });
const comment = once(async () => {
  await ask(`Comment on row ${state.row.row + 1}`, [["text", "Comment", ""]], "Save", async ({ text }) => {
    await tell("comment", { rows: [state.row.row], text }, "Comment saved.");
    state.row.comments = [...state.row.comments, { person: state.me, text }];
  });
  draw();
});
const similar = once(async () => {
  if (state.near) { state.near = null; drawNear(); drawChoices(); return; }
  state.near = await call(`similar?row=${state.row.row}`);
  drawNear();
  byId("near").querySelector("input")?.focus();
});

function drawNear() {
  if (!state.near) { put(byId("near")); return; }
  const boxes = [];
  const set = (one, on) => { one.on = on; drawChoices(); };
  const all = h("label", {}, h("input", { type: "checkbox", onchange: (event) => { boxes.forEach((box) => { box.checked = event.target.checked; }); state.near.forEach((one) => set(one, event.target.checked)); } }), "all of them");
  put(byId("near"), h("h3", {}, "Similar rows"), h("p", { class: "said" }, "Rows that you tick get the same labels when you accept. ", all),
    h("ul", { class: "near-rows" }, state.near.map((one) => {
      const box = h("input", { type: "checkbox", onchange: (event) => set(one, event.target.checked) });
      boxes.push(box);
      return h("li", {}, h("label", { class: "near-row" }, box, h("span", {}, rowContents(one.features, one.row, "small"))));
    })));
}

const KEYS = { ArrowRight: skip, ArrowLeft: back, "!": flag, ":": comment, "+": similar };
document.addEventListener("keydown", (event) => {
  if (viewNow(VIEWS) !== "label" || byId("dialog").open || event.altKey) return;
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "z" && !byId("search")?.value) { event.preventDefault(); undo(); }
    return;
  }
  if (!state.row || (event.target.tagName === "INPUT" && event.target.id !== "search")) return;
  const search = byId("search"), text = search.value;
  const acts = () => { event.preventDefault(); event.stopPropagation(); };
  if (event.key === "Enter") {
    if (["BUTTON", "A", "SUMMARY"].includes(event.target.tagName)) return;
    acts();
    if (!text.trim()) accept();
    else { const [best] = matches(text); if (best) toggle(best); else create_(text)(); }
  } else if (event.key === "Escape") { search.value = ""; drawChoices(); search.focus(); }
  else if (text) return;
  else if (/^[0-9]$/.test(event.key)) { acts(); const name = state.order[(+event.key + 9) % 10]; if (name) toggle(name); }
  else if (KEYS[event.key]) { acts(); KEYS[event.key](); }
  else if (event.key.length === 1 && event.key !== " " && event.target !== search && event.target.tagName !== "BUTTON") search.focus();
});

// review ---------------------------------------------------------------------------------------

async function review(more = false) {
  const form = byId("filters"), turn = (review.turn = (review.turn ?? 0) + 1);
  const label = form.label.value;
  put(form.label, h("option", { value: "" }, "any label"), state.card.labels.map(({ name }) => h("option", { value: name, selected: name === label }, name)));
  state.start = more ? state.start + 20 : 0;
  if (!more) byId("found").textContent = "Searching…";
  try {
    const found = await call(`list?${new URLSearchParams({ which: form.which.value, label, find: form.find.value, start: state.start })}`);
    if (turn !== review.turn) return;
    const cards = found.rows.map(reviewed);
    if (more) byId("rows-found").append(...cards); else put(byId("rows-found"), cards);
    byId("found").textContent = found.total ? counted(found.total, "row") : "No rows found.";
    byId("more").hidden = state.start + 20 >= found.total;
  } catch (error) { byId("found").textContent = form.which.value === "before" && !label ? "Choose a label." : error.message; put(byId("rows-found")); byId("more").hidden = true; }
}

function reviewed(row) {
  const people = Object.entries(row.answers);
  const decide = (labels) => attempt(async () => { await tell("answer", { rows: [row.row], labels, final: true }, `Decided for row ${row.row + 1}: ${words(labels)}.`); await review(); });
  return h("article", {}, h("header", {}, h("b", {}, `Row ${row.row + 1}`), h("span", {}, row.flagged ? "flagged" : "")),
    row.why.slice(0, 4).map(([name, what]) => h("span", { class: "note" }, `${name}: probably ${what}`)),
    rowContents(row.features, row.row, ""),
    people.map(([person, labels]) => h("p", { class: "said" }, h("b", {}, person || "somebody"), `: ${words(labels)} `, row.conflict ? h("button", { type: "button", class: "plain", onclick: decide(labels) }, "use this answer") : null)),
    people.length ? null : h("p", { class: "said" }, "suggested: ", words(row.labels)),
    row.comments.map((one) => h("p", { class: "comment" }, h("b", {}, one.person || "somebody"), `: ${one.text}`)),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: attempt(() => open(row.row)) }, "Open")));
}

// labels ---------------------------------------------------------------------------------------

const EDITS = {
  rename: (name) => ask(`Rename “${name}”`, [["name", "New name", name]], "Rename", (said) => tell("rename", { label: name, name: said.name }, "Renamed.")),
  describe: (name) => ask(`Describe “${name}”`, [["description", "When does a row have this label?", state.labels.get(name).description, "optional"]], "Save", (said) => tell("describe", { label: name, ...said }, "Saved.")),
  merge: (name) => ask(`Merge “${name}” with another label`, [["other", "Other label", state.card.labels.map((one) => one.name).filter((one) => one !== name), "select"], ["into", "Name of both together", name]], "Merge", ({ other, into }) => tell("merge", { labels: [name, other], into }, "Merged.")),
  split: (name) => ask(`Split “${name}”`, [["into", "New labels, separated by commas; its rows are asked again", `${name} 1, ${name} 2`]], "Split", ({ into }) => tell("split", { label: name, into: into.split(",").map((one) => one.trim()).filter(Boolean) }, "Split.")),
  remove: (name) => ask(`Remove “${name}” from all rows?`, [], "Remove", () => tell("remove", { label: name }, `Removed “${name}”.`)),
};
const interval = (measure) => measure?.[0] == null ? h("td", {}, "–") : h("td", { class: "interval" }, number(measure[0]), h("span", {}, ` ${number(measure[1])}–${number(measure[2])}`));

function scrollTable(name, head, rows) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
}

async function showLabels() {
  const draw = (quality) => {
    const figures = new Map((quality?.labels ?? []).map((one) => [one.label, one])), alpha = new Map((quality?.agreement ?? []).map((one) => [one.label, one]));
    const worst = (name) => figures.get(name)?.f1[0] ?? (figures.size ? -1 : 0);
    const labels = [...state.card.labels].sort((a, b) => worst(a.name) - worst(b.name));
    const row = (name, about, rows, one, more) => h("tr", {}, h("th", { scope: "row", class: "label-name" }, name, about ? h("span", {}, about) : null), h("td", {}, rows.toLocaleString("en")), ["precision", "recall", "f1"].map((measure) => interval(one?.[measure])),
      h("td", {}, alpha.get(name)?.alpha == null ? "–" : number(alpha.get(name).alpha)), h("td", {}, more));
    const all = quality?.all;
    put(byId("table"), labels.length ? scrollTable("Labels", ["Label", "Rows", "Precision", "Recall", "F1", "Agreement", ""], [
      all ? row("All labels", "", all.rows, all, "") : null,
      labels.map(({ name, description, rows }) => row(name, description, rows, figures.get(name), Object.entries(EDITS).map(([what, edit]) => h("button", { type: "button", class: "plain", "aria-label": `${what} ${name}`, onclick: attempt(async () => { await edit(name); await showLabels(); }) }, what)))),
    ]) : h("p", { class: "empty" }, "No labels yet. Add one here, or type its name while labeling."));
    put(byId("more-figures"),
      figures.size ? h("p", { class: "quiet" }, "Worst F1 first, with 95% intervals. Each row is scored by a model that has not seen its answer. Rows are chosen to be informative, so the figures of all rows tend to be better. Agreement is Krippendorff's alpha between people.") : quality ? h("p", { class: "quiet" }, "Figures appear after a few answers.") : h("p", { class: "quiet" }, "Computing figures…"),
      quality?.drift ? h("p", {}, `The model was trained on ${counted(state.card.model.answers, "answer")}. On the ${quality.drift.rows} answers since then its F1 is ${number(quality.drift.since)}${quality.drift.before == null ? "" : `; on held-out rows it was ${number(quality.drift.before)}`}.`) : null,
      quality?.confusions.length ? [h("h3", {}, "Often confused"), h("ul", {}, quality.confusions.map(([missed, wrong, n]) => h("li", {}, h("b", {}, missed), " is missed where ", h("b", {}, wrong), ` is suggested: ${counted(n, "row")}`)))] : null);
  };
  draw(null);
  draw(await call("quality"));
}

// progress -------------------------------------------------------------------------------------

async function showProgress() {
  put(byId("curve"), h("p", { class: "quiet" }, "Computing the learning curve…"));
  const found = await call("progress"), { curve, stop } = found, { skipped, again } = state.card;
  put(byId("curve"), curve ? [curveText(curve, found.seconds), drawnCurve(curve)] : h("p", { class: "quiet" }, "The learning curve appears after 20 answers, some of them with labels."));
  const sure = stop ? Math.round(100 * stop.confidence) : 95;
  put(byId("stop"), stop ? [h("h3", {}, "When to stop"),
    h("p", { class: "big" }, stop.may_stop ? `You may stop: of the rows with each label, at least ${percent(stop.target)} are found, with ${sure}% confidence for all labels together.` : `At least ${percent(stop.overall)} of the labels of all rows are found, with ${sure}% confidence.${stop.audits ? "" : " No rows have been drawn at random yet."}`),
    h("p", { class: "quiet" }, `One row in five is drawn at random; the bounds follow from ${counted(stop.audits, "such row")}. They hold whenever you look.${skipped ? ` ${counted(skipped, "skipped row")} ${skipped === 1 ? "counts as a row" : "count as rows"} without labels.` : ""}${again ? ` ${counted(again, "row")} of a label that was split must be answered again before the bounds of its parts are of use.` : ""}`),
    scrollTable("Labels found", ["Label", "Found", "There are at most", "Found at least"], [...stop.labels].sort((a, b) => a.recall - b.recall).map((one) => h("tr", {}, h("th", { scope: "row", class: "label-name" }, one.label), h("td", {}, one.found.toLocaleString("en")), h("td", {}, one.at_most.toLocaleString("en")), h("td", {}, percent(one.recall)))))] : null);
  const people = Object.entries(state.card.people);
  put(byId("people"), h("h3", {}, "People"), people.length ? scrollTable("People", ["Name", "Answers"], people.map(([name, n]) => h("tr", {}, h("th", { scope: "row" }, name || "somebody"), h("td", {}, n.toLocaleString("en"))))) : h("p", { class: "quiet" }, "Nobody has answered yet."),
    state.card.conflicts ? h("p", {}, h("a", { href: "#review", onclick: () => { byId("filters").which.value = "conflicts"; } }, counted(state.card.conflicts, "conflict"))) : null);
}

const between = ([, value, low, high]) => `${number(value)} (${number(Math.max(0, low))}–${number(Math.min(1, high))})`;
function curveText(curve, seconds) {
  return h("p", { class: "big" }, `With ${counted(curve.now[0], "answer")}, the F1 of new rows is about ${between(curve.now)}.`,
    curve.hour ? ` At a pace of ${counted(Math.max(1, Math.round(seconds)), "second")} a row, ${curve.hour[0] - curve.now[0] < 3600 / seconds - 1 ? "answering all rows" : "another hour"} would bring it to about ${between(curve.hour)}.` : "");
}

function drawnCurve({ points, now, hour }) {
  const all = [...points, now, ...(hour ? [hour] : [])], width = 600, height = 220, left = 34, bottom = 24;
  const low = all[0][0], high = Math.max(all[all.length - 1][0], low + 1);
  const top = Math.min(1, Math.ceil(10 * Math.max(...all.map((one) => one[3])) + 1e-9) / 10) || 0.1;
  const x = (n) => left + Math.log(n / low) / Math.log(high / low) * (width - left - 20), y = (v) => 8 + (1 - Math.min(top, Math.max(0, v)) / top) * (height - bottom - 8);
  const path = (list, k) => list.map((one, i) => `${i ? "L" : "M"}${x(one[0]).toFixed(1)} ${y(one[k]).toFixed(1)}`).join("");
  const grid = [0, top / 2, top].map((v) => [h("line", { class: "grid", x1: left, x2: width - 20, y1: y(v), y2: y(v) }), h("text", { class: "tick", x: left - 6, y: y(v) + 4, "text-anchor": "end" }, number(v))]);
  const ticks = [low, now[0], ...(hour ? [high] : [])].map((n) => h("text", { class: "tick", x: x(n), y: height - 4, "text-anchor": n === low ? "start" : n === high ? "end" : "middle" }, n.toLocaleString("en")));
  return h("figure", { class: "curve" }, h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "F1 by the number of answers" }, ...grid.flat(), ...ticks,
    h("path", { class: "band", d: `${path(all, 2)}${path([...all].reverse(), 3).replace("M", "L")}Z` }), h("path", { class: "line s0", d: path(points, 1) }), h("path", { class: "dash", d: path([points[points.length - 1], now, ...(hour ? [hour] : [])], 1) }),
    h("circle", { class: "dot", cx: x(now[0]), cy: y(now[1]), r: 5 })), h("figcaption", {}, "F1 by the number of answers in cross-validation, with 95% intervals; dashed: extrapolated."));
}

// files ----------------------------------------------------------------------------------------

const EXPORTS = { csv: "CSV", jsonl: "JSON lines", "label-studio": "Label Studio", votes: "Votes of each person (CSV)" };

async function showFiles() {
  const card = state.card, fits = card.model && card.model_version >= card.version;
  put(byId("exports"), Object.entries(EXPORTS).map(([format, title]) => h("button", { type: "button", disabled: !card.answered, onclick: attempt(() => download(`export?format=${format}`)) }, title)),
    h("button", { type: "button", disabled: !card.suggests, onclick: attempt(() => download("predictions?format=csv")) }, "Predictions for all rows (CSV)"));
  put(byId("model"),
    h("p", {}, card.model ? `The current model was trained on ${counted(card.model.answers, "answer")}.` : "No model has been trained yet. One is trained after 25 answers, or now."),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: fits ? "" : "main", disabled: !card.answered || Boolean(card.working), onclick: attempt(async () => { showWork(await call("train", { method: "POST" })); }) }, "Train on all answers now"),
      h("button", { type: "button", class: fits ? "main" : "", disabled: !card.model, onclick: attempt(() => download("model")) }, "Download the model (.skops)")),
    h("p", { class: "quiet" }, "It is the model that this command makes from the exported CSV file:"), h("pre", { class: "command", tabindex: 0 }, card.command));
  const events = await call("history?most=50"), gone = (one) => one.undone || one.kind === "undo";
  const told = (one) => one.kind === "undo" ? `undoes ${one.undoes}` : one.kind === "answer" ? `${one.rows.length === 1 ? `row ${one.rows[0] + 1}` : counted(one.rows.length, "row")}: ${words(one.labels)}`
    : one.rows ? `${one.kind} row ${one.rows.map((row) => row + 1).join(", ")}${one.text ? `: ${one.text}` : ""}` : `${one.kind} ${[one.label, ...(one.labels ?? [])].filter(Boolean).join(", ")}${one.name ? ` ${one.name}` : ""}${one.into ? ` → ${[one.into].flat().join(", ")}` : ""}`;
  put(byId("history"), events.length ? scrollTable("History", ["", "Time", "Person", "What", ""], events.map((one) => h("tr", {}, h("th", { scope: "row" }, one.id), h("td", {}, new Date(one.time).toLocaleString()), h("td", {}, one.person || "–"), h("td", { class: "text" }, told(one)),
    h("td", {}, gone(one) ? one.undone ? "undone" : "" : h("button", { type: "button", class: "plain", "aria-label": `Undo ${one.id}`, onclick: attempt(async () => { await call("say", { method: "POST", said: { person: state.me, kind: "undo", said: { id: one.id } } }); await loadCard(); await showFiles(); }) }, "undo"))))) : h("p", { class: "empty" }, "Nothing has been said yet."));
}

// views ----------------------------------------------------------------------------------------

async function showLabel() {
  if (state.keep || state.row) { state.keep = false; if (state.row) draw(); return; }
  await next();
}

const VIEWS = { label: showLabel, review: () => review(), labels: showLabels, progress: showProgress, files: showFiles };
const show = () => showView(VIEWS, state.card.name);

async function begin() {
  state.me = localStorage.getItem("person") ?? "";
  try {
    await loadCard();
    if (!state.me) await askName();
    const events = await call(`history?most=200&person=${encodeURIComponent(state.me)}`);
    const mine = events.reverse().filter((one) => !one.undone && one.kind !== "undo");
    state.undo = mine.map((one) => ({ id: one.id, row: one.rows?.[0] }));
    state.past = [...new Set(mine.filter((one) => one.kind === "answer").flatMap((one) => one.rows))];
  } catch (error) {
    byId("name").textContent = "plurilabel";
    byId("label").hidden = false;
    put(byId("card"), h("p", { class: "error" }, error.message));
    return;
  }
  const filters = byId("filters");
  filters.addEventListener("submit", (event) => event.preventDefault());
  let timer;
  filters.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => review(), 200); });
  byId("more").addEventListener("click", () => review(true));
  byId("add").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const form = event.target, said = Object.fromEntries(new FormData(form));
      await tell("label", said, `Added “${said.name}”.`);
      form.reset();
      await showLabels();
      form.elements.name.focus();
    })();
  });
  byId("import").addEventListener("change", attempt(async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    say(`Importing ${file.name}…`);
    const done = await call(`import?name=${encodeURIComponent(file.name)}&person=${encodeURIComponent(state.me)}`, { method: "POST", content: file, type: "application/octet-stream" });
    event.target.value = "";
    await loadCard();
    await showFiles();
    say(`Imported ${counted(done.answers, "answer")}.`);
  }));
  addEventListener("hashchange", show);
  await show();
  follow("events", followed);
}

begin();
