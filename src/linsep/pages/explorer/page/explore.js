// The page of linsep explore. It draws and asks; everything it shows was computed by linsep in Python.
//
// mount(host, line) builds the page inside an element. `line` is how it reaches Python:
//   line.ask(kind, asked) -> Promise of an answer;  line.first {points, settings, said};  line.presets;
//   line.replay: the embedded run of a saved page, on which nothing can be changed;  line.keep(points, settings).
// One question is on its way at a time, and only the latest one waits.

import { html, put } from "./elements.js";
import { FIELDS, build } from "./structure.js";
import { plane } from "./plane.js";
import { words } from "./words.js";
import { charting } from "./charts.js";
import { editing } from "./editing.js";
import { undoing } from "./undoing.js";
import { sharing } from "./sharing.js";

export function mount(host, line) {
  const state = {
    rows: [], labels: [], names: [], settings: {}, classes: [-1, 1], label: 1, tool: "move",
    shown: null, index: 0, box: null, held: null, around: null, chosen: 0, epoch: 0, playing: 0, speed: 2, seed: 0,
  };
  const part = {}; // named elements
  const page = { state, part, line, host }; // what the other files see; they add their functions to it
  const root = (page.root = build(page));
  host.replaceChildren(root);

  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const complain = (text) => put(part.status, text ?? "");

  // ------------------------------------------------------------------------------------------------- asking and taking

  let flying = false, waiting = false, kept = 0;
  async function refresh() {
    waiting = true;
    if (flying) return;
    flying = true;
    root.dataset.state = "busy";
    while (waiting) {
      waiting = false;
      const { epoch, held } = state;
      const asked = { points: { rows: state.rows, labels: state.labels, names: state.names }, settings: state.settings };
      if (state.around !== null) asked.around = state.around;
      if (held) asked.view = { origin: held.origin, basis: held.basis, axes: held.axes };
      let answer;
      try { answer = await line.ask("compute", asked); } catch (error) { answer = { error: `no answer: ${error.message}` }; }
      try { if (epoch === state.epoch) show(answer); } catch (error) { console.error(error); }
    }
    flying = false;
    root.dataset.state = "settled";
    clearTimeout(kept);
    kept = setTimeout(() => line.keep?.({ rows: state.rows, labels: state.labels, names: state.names }, state.settings), 250);
  }

  function show(answer) {
    complain(answer.error ?? answer.note);
    if (answer.error) return;
    const atEnd = !state.shown?.run || state.index >= state.shown.run.frames.length - 1;
    const before = state.shown, k = state.around ?? before?.run?.frames[state.index] ?? 0;
    state.shown = answer;
    for (const c of answer.classes) if (!state.classes.includes(c)) state.classes.push(c);
    const last = answer.run ? answer.run.frames.length - 1 : 0;
    state.index = atEnd && state.around === null ? last : answer.run ? page.nearest(k) : 0;
    state.around = null;
    part.slider.max = last;
    if (!state.held && (answer.view.kind === "projection" || before?.view.kind !== answer.view.kind)) page.fitBox();
    if (!state.box) page.fitBox();
    drawAll();
  }

  function adopt(points, settings, said) {
    pause();
    page.drag = null;
    Object.assign(state, { rows: points.rows.map((row) => [...row]), labels: [...points.labels], names: [...(points.names ?? [])] });
    Object.assign(state, { chosen: 0, shown: null, box: null, held: null, epoch: state.epoch + 1 });
    if (settings) state.settings = { ...settings };
    else state.settings = { ...state.settings, columns: null, start: [] };
    state.classes = [...new Set(points.labels)].sort((p, q) => (typeof p === "number" ? p - q : p < q ? -1 : 1));
    const usual = typeof state.classes[0] === "string" ? ["A", "B"] : [-1, 1];
    if (state.classes.length < 2) state.classes = [...new Set([...state.classes, ...usual])].slice(0, 2);
    state.label = state.classes[state.classes.length - 1];
    state.said = said ?? "";
    writeFields();
    return refresh();
  }

  async function ask(kind, asked) {
    try {
      const answer = await line.ask(kind, asked);
      complain(answer.error);
      return answer.error ? null : answer;
    } catch (error) { complain(`no answer: ${error.message}`); return null; }
  }
  function loadPreset() { state.seed = 0; return askPreset(); }
  let presetAsked = 0;
  async function askPreset() {
    const chosen = part.preset.value, mine = ++presetAsked;
    part.teacher.hidden = chosen !== "teacher";
    put(part.marginValue, part.margin.value);
    if (!chosen) return;
    root.dataset.state = "busy";
    const got = await ask("preset", { name: chosen, margin: +part.margin.value, seed: state.seed });
    if (!got || mine !== presetAsked) return;
    page.remember(`preset ${chosen}`);
    await adopt(got.points, got.settings, got.said);
  }
  async function readText(text) {
    const got = await ask("read", { text });
    if (!got) return;
    page.remember();
    own();
    root.querySelectorAll("details.menu").forEach((menu) => { menu.open = false; });
    await adopt(got.points, null, got.said);
  }
  function clear() {
    page.remember();
    own();
    adopt({ rows: [], labels: [], names: [] });
  }
  async function readFile() {
    const file = part.file.files[0];
    part.file.value = "";
    if (!file) return;
    if (file.size > 3e6) complain("the file has more than 3 MB: linsep explore FILE takes larger ones");
    else readText(await file.text());
  }
  function own() { // the points are no longer those of an example: neither is what was said of it
    if (part.preset) part.preset.value = "";
    if (part.teacher) part.teacher.hidden = true;
    state.said = "";
    drawHint();
  }
  function allowOffset() {
    part["set-fit_intercept"].checked = true;
    if (state.settings.start?.length) part["set-start"].value = [...state.settings.start, 0].join(" ");
    readFields();
  }

  function writeFields() {
    for (const [key, , kind] of FIELDS) {
      const input = part[`set-${key}`], value = state.settings[key];
      if (kind === "check") input.checked = value;
      else input.value = Array.isArray(value) ? value.map(String).join(" ") : value ?? "";
    }
    const d = state.rows[0]?.length ?? 2, names = state.names.length ? state.names : [...Array(d).keys()].map((j) => `x${j + 1}`);
    part.columns.hidden = d < 3;
    const pairs = [["", `all ${d}, projected`]];
    for (let i = 0; i < d; i++) for (let j = i + 1; j < d; j++) pairs.push([`${i} ${j}`, `${names[i]} × ${names[j]}`]);
    part["set-columns"].replaceChildren(...pairs.map(([value, text]) => html("option", { value }, text)));
    part["set-columns"].value = (state.settings.columns ?? []).join(" ");
  }
  function readFields() {
    page.remember();
    for (const [key, , kind] of FIELDS) {
      const input = part[`set-${key}`], text = input.value.trim();
      if (kind === "check") state.settings[key] = input.checked;
      else if (Array.isArray(kind)) state.settings[key] = key === "on_plane" ? Number(text) : text;
      else if (kind === "list") state.settings[key] = text ? text.split(/[\s,;]+/).map(Number) : [];
      else state.settings[key] = text === "" && kind === "maybe" ? null : Number(text);
    }
    const pair = part["set-columns"].value;
    const columns = pair ? pair.split(" ").map(Number) : null;
    if (String(columns) !== String(state.settings.columns)) Object.assign(state, { box: null, held: null });
    state.settings.columns = columns;
    state.said = ""; // what was said of an example is about its own settings
    state.epoch += 1;
    refresh();
  }

  // ----------------------------------------------------------------------------------------------------------- the run

  function go(index) {
    const last = state.shown?.run ? state.shown.run.frames.length - 1 : 0;
    state.index = Math.max(0, Math.min(last, index));
    page.drawMoment();
    page.drawStep();
    page.drawCursors();
    if (state.shown?.theorem || state.shown?.rest) page.drawProof();
    page.drawCount();
  }
  function step(by) { // of a long run not every moment is here: those nearby are asked for
    const frames = state.shown?.run?.frames ?? [0], k = frames[state.index], next = frames[state.index + by];
    pause();
    if (next === undefined || Math.abs(next - k) === 1 || line.replay) { go(state.index + by); return; }
    state.around = k + by;
    refresh();
  }
  function pause() {
    clearInterval(state.playing);
    state.playing = 0;
    put(part.run, "▶ Run");
    part.update.setAttribute("aria-live", "polite"); // each step is read out, but not while running
    part.run.setAttribute("aria-pressed", "false");
  }
  function toggle() {
    if (state.playing) { pause(); return; }
    const last = state.shown?.run ? state.shown.run.frames.length - 1 : 0;
    if (!last) return;
    if (state.index >= last) go(0);
    put(part.run, "⏸ Pause");
    part.update.setAttribute("aria-live", "off");
    part.run.setAttribute("aria-pressed", "true");
    state.playing = setInterval(() => { if (state.index >= last) pause(); else go(state.index + 1); }, 1000 / state.speed);
  }
  function walkKeys(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    pause();
    go(state.index + by);
  }
  root.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && root.querySelector("details.menu[open]");
    if (open) { open.open = false; open.querySelector("summary").focus(); }
    if (event.key !== " " || event.target.closest("button, input, select, textarea, summary")) return;
    event.preventDefault();
    event.stopPropagation();
    toggle();
  });
  root.addEventListener("pointerdown", (event) => {
    for (const menu of root.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  // ------------------------------------------------------------------------------------------------------------- begin

  function drawAll() {
    if (!state.box) page.fitBox();
    if (state.shown?.keeps) {
      const input = part["set-keep"];
      const { keeps } = state.shown;
      if (input.options.length !== keeps.length) input.replaceChildren(...keeps.map((keep) => html("option", {}, keep)));
      input.value = state.settings.keep ?? "last";
    }
    colorClasses();
    root.dataset.wide = state.shown?.classes.length > 2 || state.shown?.run?.columns > 2; // this update needs more lines
    page.drawPlot();
    page.drawMoment();
    page.drawStep();
    page.drawVerdict();
    page.drawProof();
    page.drawCharts();
    page.drawCursors();
    page.drawTools();
    drawHint();
  }
  function colorClasses() { // a class that is called after a color is drawn in it
    state.classes.forEach((label, c) => {
      const shades = state.shown?.colors?.[label];
      if (shades) root.style.setProperty(`--n${c}`, `light-dark(${shades.join(", ")})`);
      else root.style.removeProperty(`--n${c}`);
    });
  }
  function drawHint() {
    const uneven = state.box && !state.box.equal ? "The two axes have different scales: right angles do not look right." : "";
    put(part.hint, [state.shown?.view.said || uneven, state.said].filter(Boolean).join(" "));
  }
  function fit() { // a projection is turned to the run as it is now
    if (state.held) { Object.assign(state, { held: null, box: null }); refresh(); return; }
    page.fitBox();
    drawAll();
  }
  let resizing = 0;
  function resize() {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => {
      if (!state.box || !root.isConnected) return;
      page.drawPlot();
      page.drawMoment();
      page.drawProof();
      page.drawCharts();
      page.drawCursors();
    });
  }
  Object.assign(page, { dark, complain, ask, refresh, adopt, loadPreset, askPreset, readText, readFile, clear, readFields, writeFields, own, allowOffset, fit });
  Object.assign(page, { go, step, pause, toggle, walkKeys, drawAll, resize });
  Object.assign(page, plane(page), words(page), charting(page), editing(page), undoing(page), sharing(page));
  new ResizeObserver(resize).observe(part.plot);
  page.drawTools();
  page.drawHistory();
  if (line.first.preset && part.preset) part.preset.value = line.first.preset;
  adopt(line.first.points, line.first.settings, line.first.said);
  return { adopt, state, root };
}

// ------------------------------------------------------------------------------------------------ three ways to Python

// A notebook: anywidget's line.
function render({ model, el }) {
  const open = new Map();
  let count = 0;
  const hear = (message) => { open.get(message.number)?.(message.answer); open.delete(message.number); };
  model.on("msg:custom", hear);
  const { root } = mount(el, {
    presets: model.get("presets"),
    first: { points: model.get("points"), settings: model.get("settings") },
    ask: (kind, asked) => new Promise((resolve) => { open.set(++count, resolve); model.send({ number: count, kind, asked }); }),
    keep: (points, settings) => { model.set("points", points); model.set("settings", settings); model.save_changes(); },
  });
  const { jpThemeLight } = document.body.dataset, said = document.body.className.match(/\b(?:vscode-)?(light|dark)\b/);
  const theme = jpThemeLight ? { true: "light", false: "dark" }[jpThemeLight] : said?.[1];
  if (theme) root.dataset.theme = theme; // the notebook's own; otherwise the system's
  return () => model.off("msg:custom", hear);
}
export default { render };

// A server on this machine: every address is relative to the page's own, which has the token in it.
async function live(host) {
  const pack = (points, settings) => { // base64 as addresses like it
    const bytes = new TextEncoder().encode(JSON.stringify({ points, settings }));
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const unpack = () => {
    const text = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    if (!text) return null;
    try {
      const found = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));
      return found.points.rows.every(Array.isArray) && Array.isArray(found.points.labels) ? found : null;
    } catch {
      return null; // not a link of ours
    }
  };
  const { presets, first } = await (await fetch("start")).json();
  const headers = { "Content-Type": "application/json" };
  const ask = async (kind, asked) => (await fetch(kind, { method: "POST", headers, body: JSON.stringify(asked) })).json();
  const begun = unpack() ?? first ?? { ...(await ask("preset", { name: presets[0].name })), preset: presets[0].name };
  const address = (points, settings) => {
    const small = points.rows.length <= 400;
    return `${location.origin}${location.pathname}${small ? `#${pack(points, settings)}` : ""}`;
  };
  const keep = (points, settings) => history.replaceState(null, "", address(points, settings));
  const page = mount(host, { presets, first: begun, ask, address, keep });
  host.page = page; // for scripts: page.state, page.adopt(points, settings)
  addEventListener("hashchange", () => { const found = unpack(); if (found) page.adopt(found.points, found.settings); });
}

// A saved page: the run is in it.
function replay(host) {
  const run = JSON.parse(document.getElementById("linsep-run").textContent);
  mount(host, { replay: run, first: run, ask: async () => run.shown });
}

const host = document.querySelector("[data-linsep]");
if (host) (host.dataset.linsep === "replay" ? replay : live)(host);
