"use strict";
// What the pages share: elements, requests, messages, pictures and texts.

const byId = (id) => document.getElementById(id);

// elements -------------------------------------------------------------------------------------

// h("p", {class: "quiet"}, "text", child): text is never markup
function h(tag, given = {}, ...children) {
  const drawn = ["svg", "g", "rect", "path", "line", "text", "title", "circle"].includes(tag);
  const element = drawn && tag !== "title"
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}
const put = (element, ...children) => element.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
const number = (value, digits = 2) => value == null ? "–" : value.toFixed(digits).replace("-", "−");
const signed = (value) => `${value > 0 ? "+" : "−"}${Math.abs(value).toPrecision(2)}`;
const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

// requests -------------------------------------------------------------------------------------

// the fragment of an address is not sent to servers; the token is kept for this tab only
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}

async function call(path, { method = "GET", said, content, type } = {}) {
  const headers = {};
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  if (said !== undefined) headers["Content-Type"] = "application/json";
  if (type) headers["Content-Type"] = type;
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: said === undefined ? content : JSON.stringify(said) });
  } catch {
    throw new Error("The service does not respond. Is it still running?");
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({ error: answer.statusText }));
    if (answer.status === 401) throw new Error("The token is missing or wrong: open the address that the service printed.");
    throw new Error(problem.error);
  }
  const version = answer.headers.get("content-type")?.startsWith("application/json") ? await answer.json() : answer;
  if (version && typeof version.version === "number") dispatchEvent(new CustomEvent("version", { detail: version.version }));
  return version;
}

// call a function with each status that the server sends; EventSource cannot send a token
async function follow(path, then) {
  const token = sessionStorage.getItem("token");
  for (let wait = 500; ; wait = Math.min(2 * wait, 10000)) {
    try {
      const answer = await fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done || !answer.ok) break;
        wait = 500;
        const events = (text += value).split("\n\n");
        text = events.pop();
        for (const event of events) if (event.startsWith("data: ")) then(JSON.parse(event.slice(6)));
      }
    } catch { then(null); }  // the server is gone: try again
    await new Promise((done) => setTimeout(done, wait));
  }
}

// messages -------------------------------------------------------------------------------------

function say(text, action, does) {
  const toast = byId("toast");
  put(toast, h("span", {}, text), action && h("button", { type: "button", onclick: () => { toast.hidden = true; does(); } }, action));
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { toast.hidden = true; }, 9000);
}
const failed = (error) => say(error.message);
const attempt = (work) => async (...args) => { try { await work(...args); } catch (error) { failed(error); } };

async function download(path, name) {
  const answer = await call(path), given = /filename="([^"]+)"/.exec(answer.headers?.get("content-disposition") ?? "");
  saveAs(answer.blob ? await answer.blob() : new Blob([JSON.stringify(answer)]), name ?? given?.[1] ?? "download");
}
function saveAs(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// rows -----------------------------------------------------------------------------------------

// columns named like pixel_3_7 are drawn as a picture
function pictureOf(features, size = "") {
  const names = Object.keys(features);
  if (names.length < 16) return null;
  const found = names.map((name) => /_(\d+)_(\d+)$/.exec(name));
  if (found.some((match) => !match)) return null;
  const values = Object.values(features).map(Number);
  const most = Math.max(...values.map(Math.abs)) || 1;
  const high = 1 + Math.max(...found.map((match) => +match[1])), wide = 1 + Math.max(...found.map((match) => +match[2]));
  const svg = h("svg", { class: `picture ${size}`, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `The row as a picture of ${wide} by ${high} points` });
  found.forEach((match, i) => {
    const strength = Math.abs(values[i]) / most;
    if (strength > 0.02) svg.append(h("rect", { x: match[2], y: match[1], width: 1.02, height: 1.02, "fill-opacity": strength.toFixed(2) }));
  });
  return svg;
}

function valueText(value) {
  if (value == null) return "–";
  if (Array.isArray(value)) return `vector of ${counted(value.length, "number")}`;
  return typeof value === "number" ? String(+value.toPrecision(4)) : String(value);
}

function shown(features, size = "") {
  if (features == null) return [h("p", { class: "nothing" }, "This row cannot be shown. Start the service with --data to show it.")];
  if (typeof features === "string") return [h("p", { class: "words" }, features)];
  const picture = pictureOf(features, size);
  if (picture) return [h("div", { class: "what" }, picture)];
  const kinds = Object.fromEntries(state.card.columns.map((column) => [column.name, column.kind]));
  const texts = Object.keys(features).filter((name) => kinds[name] === "text");
  const others = Object.keys(features).filter((name) => kinds[name] !== "text");
  const most = size === "small" ? 4 : size === "large" ? 24 : 6;
  const list = h("dl", { class: "values" }, others.slice(0, most).map((name) => [
    h("dt", { title: name }, name), h("dd", {}, valueText(features[name]))]));
  return [
    ...texts.map((name) => h("p", { class: "words" }, features[name] ?? "")),
    others.length ? h("div", { class: "what" }, list) : null,
    others.length > most ? h("p", { class: "nothing" }, `and ${counted(others.length - most, "more value")}`) : null,
  ];
}

// a text with marks [start, end, adds]; places count characters, as Python does, not halves of them
function markedText(text, marks, least = 0) {
  const letters = Array.from(text), most = Math.max(...marks.map(([, , adds]) => Math.abs(adds))), pieces = [];
  let end = 0;
  for (const [start, stop, adds] of marks.filter((mark) => Math.abs(mark[2]) >= least * most)) {
    pieces.push(letters.slice(end, start).join(""), h("mark", { class: adds > 0 ? "for" : "against", "--v": (Math.abs(adds) / most).toFixed(2), title: signed(adds) }, letters.slice(start, stop).join("")));
    end = stop;
  }
  return [pieces, letters.slice(end).join("")];
}

// show the section that the address names, and load it
const viewNow = (views) => location.hash.slice(1) in views ? location.hash.slice(1) : Object.keys(views)[0];
async function showView(views, title) {
  if (location.hash === "#main") { byId("main").focus(); return; }
  const view = viewNow(views);
  for (const name of Object.keys(views)) byId(name).hidden = name !== view;
  for (const link of byId("views").querySelectorAll("a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${byId("views").querySelector("[aria-current]").textContent} – ${title}`;
  await Promise.resolve(views[view]()).catch(failed);
  document.body.dataset.view = view;  // for tests: the view is complete
}
