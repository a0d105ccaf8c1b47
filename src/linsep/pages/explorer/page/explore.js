// The page: its state, what changes it, and how it is drawn again.
//
// `study` runs the perceptron at once, whenever points or settings change; `answered` decides what is known of the points, in a worker
// where the browser allows one.

import { counted } from "../engine/run.js";
import { isKernel } from "../engine/features.js";
import { answered, study } from "../engine/engine.js";
import { checkedPoints, readText, sortedClasses } from "../engine/points.js";
import { SETTINGS, checkedSettings, usual } from "../engine/settings.js";
import { growthOf, proofSteps } from "../engine/theory.js";
import { charting } from "./charts.js";
import { classColors } from "./colors.js";
import { editing } from "./editing.js";
import { html, put } from "./elements.js";
import { handling } from "./hand.js";
import { plane } from "./plane.js";
import { PRESETS } from "./presets.js";
import { sharing, unpacked } from "./sharing.js";
import { build } from "./structure.js";
import { undoing } from "./undoing.js";
import { viewOf } from "./view.js";
import { weighing } from "./weights.js";
import { words } from "./words.js";

// Answers questions about points, the latest one first; `take` gets the answer and the number of the question.
function theorist(take) {
  const engine = document.getElementById("linsep-engine")?.textContent;
  let worker = null, flying = null, waiting = null, timer = 0;
  const start = () => {
    try {
      const text = `${engine}\nonmessage = ({ data }) => { try { postMessage({ number: data.number, answer: linsepEngine.answered(data.question) }); } catch (error) { postMessage({ number: data.number, error: error.message }); } };`;
      worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => landed(data);
      worker.onerror = (event) => { event.preventDefault?.(); worker = null; here(flying); };
    } catch { worker = null; }
  };
  const landed = (data) => {
    clearTimeout(timer);
    flying = null;
    take(data);
    if (waiting) { const next = waiting; waiting = null; ask(next); }
  };
  const here = (job) => setTimeout(() => { try { landed({ number: job.number, answer: answered(job.question) }); } catch (error) { landed({ number: job.number, error: error.message }); } });
  function ask(job) {
    if (flying) {
      waiting = job;
      if (worker && !timer) timer = setTimeout(() => { timer = 0; if (!waiting) return; worker.terminate(); start(); flying = null; const next = waiting; waiting = null; ask(next); }, 800); // a long search nobody waits for any more
      return;
    }
    clearTimeout(timer);
    timer = 0;
    flying = job;
    if (worker) worker.postMessage(job);
    else here(job);
  }
  if (engine) start();
  return ask;
}

export function mount(host, begin) {
  const state = {
    rows: [], labels: [], names: [], settings: usual(), classes: [-1, 1], label: 1, tool: "move", said: "", preset: "",
    shown: null, k: 0, at: 0, by: "mistake", box: null, held: null, hand: null, vectors: false, chosen: 0, playing: 0, speed: 2, seed: 0,
  };
  const part = {}; // named elements
  const page = { state, part, host }; // what the other files see; they add their functions to it
  const root = (page.root = build(page));
  host.replaceChildren(root);

  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const complain = (text) => put(part.status, text ?? "");

  // ------------------------------------------------------------------------------------------------ computing and showing

  let number = 0, waiting = 0, kept = 0;
  const ask = theorist(({ number: answeredNumber, answer, error }) => {
    if (answeredNumber !== number) return;
    if (error) complain(error);
    takeTheory(answer ?? null);
    settle();
  });
  function settle() {
    Object.assign(root.dataset, { state: "settled", round: number });
    keepSoon();
  }
  function keepSoon() {
    clearTimeout(kept);
    kept = setTimeout(() => page.keepAddress(), 250);
  }
  function refresh(now = false) { // once a frame at most
    root.dataset.state = "busy";
    cancelAnimationFrame(waiting);
    if (now) compute();
    else waiting = requestAnimationFrame(compute);
  }
  function compute() {
    number++;
    let found;
    try { found = study({ rows: state.rows, labels: state.labels, names: state.names }, state.settings); } catch (error) { complain(error.message); settle(); return; }
    const { run, settings } = found, before = state.shown, names = columnNames(), columns = settings.columns && state.rows[0]?.length > 2 ? settings.columns.map((j) => names[j]) : names;
    const same = before?.run && run && before.run.n === run.n && before.run.machines === run.machines && before.run.apart === run.apart && before.run.width === run.width;
    complain(run ? "" : state.rows.length ? "Place points of at least two classes, some of each to learn from." : "");
    for (const c of found.classes) if (!state.classes.includes(c)) state.classes.push(c);
    const atEnd = !before?.run || state.k >= before.run.mistakes;
    const last = run && run.machines === 1 && !isKernel(settings.features) && settings.features === "columns" ? run.weightsAt(run.mistakes).slice(0, run.width) : null;
    state.shown = {
      ...found, names: columns, linear: settings.features === "columns", view: state.held ?? viewOf(found.seen, columns, last),
      theory: same ? before.theory : null, steps: null, growth: run && !run.apart && !found.space.kernel ? growthOf(run, settings) : null, colors: classColors(state.classes),
    };
    state.k = run ? (atEnd ? run.mistakes : Math.min(state.k, run.mistakes)) : 0;
    state.at = run ? visitOf(run, state.k) : 0;
    if (begun && run) { moveTo(begun.k, begun.at); begun = null; }
    if (!state.held && (state.shown.view.kind === "projection" || before?.view.kind !== state.shown.view.kind)) page.fitBox();
    if (state.shown.theory) prove();
    drawAll();
    if (found.question) ask({ number, question: found.question });
    else { takeTheory(null); settle(); }
  }
  let begun = null; // the step that a link begins at
  function takeTheory(answer) {
    if (!state.shown) return;
    state.shown.theory = answer;
    prove();
    drawAll();
  }
  function prove() { // every step of the proof, with the numbers of the run
    const { run, theory, settings } = state.shown;
    state.shown.steps = run && theory?.bounding ? proofSteps(run, theory.bounding, settings) : null;
  }
  const columnNames = () => (state.names.length ? state.names : Array.from({ length: state.rows[0]?.length ?? 2 }, (_, j) => `x${j + 1}`));

  function adopt(points, settings, { said = "", preset = "", step = null } = {}) {
    pause();
    page.drag = null;
    Object.assign(state, { rows: points.rows.map((row) => [...row]), labels: [...points.labels], names: [...(points.names ?? [])] });
    Object.assign(state, { chosen: 0, shown: null, box: null, held: null, hand: null, said, preset });
    state.settings = settings ? checkedSettings({ ...usual(), ...settings }) : { ...state.settings, columns: null, start: [] };
    state.classes = sortedClasses(points.labels);
    const ordinary = typeof state.classes[0] === "string" ? ["A", "B"] : [-1, 1];
    if (state.classes.length < 2) state.classes = [...new Set([...state.classes, ...ordinary])].slice(0, 2);
    state.label = state.classes.at(-1);
    if (step?.by) state.by = step.by;
    part.by.value = state.by;
    begun = step && { k: step.k, at: step.at };
    if (state.tool === "plane") state.tool = "move";
    showPreset();
    writeFields();
    refresh(true);
  }
  function showPreset() {
    part.preset.value = state.preset;
    part.teacher.hidden = state.preset !== "teacher";
  }
  function loadPreset() { state.seed = 0; drawPreset(); }
  function drawPreset() {
    const key = part.preset.value;
    put(part.marginValue, part.margin.value);
    if (!key) { clear(); return; }
    page.remember(`preset ${key}`);
    const { points, settings } = PRESETS[key].make({ margin: +part.margin.value, seed: state.seed });
    adopt(points, settings, { said: PRESETS[key].said, preset: key });
  }
  function readPoints(text) {
    let points;
    try { points = readText(text); } catch (error) { complain(error.message); return; }
    page.remember();
    closeMenus();
    adopt(points, null);
  }
  const closeMenus = () => root.querySelectorAll("details.menu").forEach((menu) => { menu.open = false; });
  function clear() {
    page.remember();
    closeMenus();
    adopt({ rows: [], labels: [], names: [] }, null);
  }
  async function readFile() {
    const file = part.file.files[0];
    part.file.value = "";
    if (!file) return;
    if (file.size > 3e6) complain("the file has more than 3 MB: this page is for fewer points");
    else readPoints(await file.text());
  }
  function own() { // the points are no longer those of an example: neither is what was said of it
    Object.assign(state, { preset: "", said: "" });
    showPreset();
    drawHint();
  }
  function allowOffset() {
    part["set-fit_intercept"].checked = true;
    if (state.settings.start.length) part["set-start"].value = [...state.settings.start, 0].join(" ");
    readFields();
  }
  function useFeatures(kind) {
    part["set-features"].value = kind;
    readFields();
  }

  // ------------------------------------------------------------------------------------------------------ the settings

  function writeFields() {
    for (const [key, { kind, from = 0 }] of Object.entries(SETTINGS)) {
      const input = part[`set-${key}`], value = state.settings[key];
      if (kind === "check") input.checked = value;
      else input.value = Array.isArray(value) ? value.map((v) => String(v + from)).join(" ") : value ?? "";
    }
    const names = columnNames(), d = names.length, pairs = [["", `all ${d}, projected`]];
    part.columns.hidden = d < 3;
    for (let i = 0; i < d; i++) for (let j = i + 1; j < d; j++) pairs.push([`${i} ${j}`, `${names[i]} × ${names[j]}`]);
    part["set-columns"].replaceChildren(...pairs.map(([value, text]) => html("option", { value }, text)));
    part["set-columns"].value = (state.settings.columns ?? []).join(" ");
    drawFields();
  }
  function drawFields() {
    part["field-multi_class"].hidden = state.classes.length < 3;
    part["field-visits"].hidden = state.settings.order !== "list";
    part["field-gamma"].hidden = state.settings.features !== "rbf kernel";
    for (const key of ["noise", "hold_out"]) put(part[`value-${key}`], `${Math.round(100 * state.settings[key])} %`);
  }
  function readFields(slider) {
    const given = {};
    for (const [key, { kind, options, maybe, from = 0 }] of Object.entries(SETTINGS)) {
      const input = part[`set-${key}`], text = input.value.trim();
      if (kind === "check") given[key] = input.checked;
      else if (kind === "choice") given[key] = options.find((option) => String(option) === text);
      else if (kind === "list") given[key] = text ? text.split(/[\s,;]+/).map((word) => Number(from ? word.replace(/^p/, "") : word) - from) : [];
      else given[key] = text === "" && maybe ? null : text === "" ? NaN : Number(text);
    }
    const pair = part["set-columns"].value;
    given.columns = pair ? pair.split(" ").map(Number) : null;
    let checked;
    try { checked = checkedSettings(given); } catch (error) { complain(error.message); return; }
    page.remember(slider ? `slider ${slider}` : "");
    if (String(checked.columns) !== String(state.settings.columns)) Object.assign(state, { box: null, held: null });
    state.settings = checked;
    state.said = ""; // what was said of an example is about its own settings
    drawFields();
    refresh();
  }

  // ----------------------------------------------------------------------------------------------------------- the run

  const visitOf = (run, k) => (k ? run.at[k - 1] : 0);
  function mistakesAt(run, visit) { // how many mistakes were made in the first visits, by bisection
    let [low, high] = [0, run.mistakes];
    while (low < high) { const middle = (low + high) >> 1; if (run.at[middle] <= visit) low = middle + 1; else high = middle; }
    return low;
  }
  const steps = () => { const run = state.shown?.run; return run ? (state.by === "visit" ? run.visits.length : run.mistakes) : 0; };
  const present = () => (state.by === "visit" ? state.at : state.k);
  function moveTo(k, at) {
    const { run } = state.shown;
    state.k = Math.max(0, Math.min(run.mistakes, k));
    state.at = at === undefined || at === null ? visitOf(run, state.k) : Math.max(0, Math.min(run.visits.length, at));
  }
  function go(index) { // to a mistake, or to a visit
    const run = state.shown?.run, to = Math.max(0, Math.min(steps(), index));
    if (!run) return;
    if (state.by === "visit") moveTo(mistakesAt(run, to), to);
    else moveTo(to);
    drawStepParts();
  }
  function goMistake(k) {
    if (!state.shown?.run) return;
    moveTo(k);
    drawStepParts();
  }
  function drawStepParts() {
    page.drawMoment();
    page.drawWeights();
    page.drawStep();
    page.drawCursors();
    if (state.shown?.steps || state.shown?.theory?.rest) page.drawProof();
    page.drawCount();
  }
  function step(by) { pause(); go(present() + by); keepSoon(); }
  function stepBy(what) {
    pause();
    state.by = what;
    drawStepParts();
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
    const last = steps();
    if (!last) return;
    if (present() >= last) go(0);
    put(part.run, "⏸ Pause");
    part.update.setAttribute("aria-live", "off");
    part.run.setAttribute("aria-pressed", "true");
    state.playing = setInterval(() => { if (present() >= last) pause(); else go(present() + 1); }, 1000 / state.speed);
  }
  function walkKeys(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    pause();
    goMistake(state.k + by);
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

  // ---------------------------------------------------------------------------------------------------------- drawing

  function drawAll() {
    if (!state.box) page.fitBox();
    state.classes.forEach((_, c) => {
      const shades = state.shown?.colors?.[c];
      if (shades) root.style.setProperty(`--n${c}`, `light-dark(${shades.join(", ")})`);
      else root.style.removeProperty(`--n${c}`);
    });
    root.dataset.wide = state.shown?.classes.length > 2 || state.shown?.run?.width > 2; // this step needs more lines
    drawFields();
    page.drawPlot();
    page.drawMoment();
    page.drawWeights();
    page.drawStep();
    page.drawVerdict();
    page.drawProof();
    page.drawCharts();
    page.drawCursors();
    page.drawTools();
    page.drawHand();
    drawHint();
  }
  function drawHint() {
    const uneven = state.box && !state.box.equal ? "The two axes have different scales: right angles do not look right." : "";
    const empty = state.rows.length ? "" : "Click into the plane to place points; choose their label above it.";
    put(part.hint, [empty, state.shown?.view.said || uneven, state.said].filter(Boolean).join(" "));
  }
  function fit() { // a projection is turned to the run as it is now
    if (state.held) { Object.assign(state, { held: null, box: null }); refresh(); return; }
    page.fitBox();
    drawAll();
  }
  let resizing = 0;
  function resize() {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => { if (state.box && root.isConnected) drawAll(); });
  }
  Object.assign(page, { dark, complain, refresh, adopt, loadPreset, drawPreset, readPoints, readFile, clear, readFields, writeFields, own, allowOffset, useFeatures, fit, showPreset, columnNames });
  Object.assign(page, { go, goMistake, step, stepBy, steps, present, pause, toggle, walkKeys, drawAll, resize, counted });
  Object.assign(page, plane(page), weighing(page), words(page), charting(page), handling(page), editing(page), undoing(page), sharing(page));
  new ResizeObserver(resize).observe(part.plot);
  page.drawTools();
  page.drawHistory();
  adoptSafely(begin);
  function adoptSafely({ points, settings, said, preset, step, hand }) {
    try {
      adopt(checkedPoints(points), settings ?? {}, { said, preset, step });
      if (hand) { state.hand = hand; drawAll(); }
    } catch (error) { complain(error.message); adopt({ rows: [], labels: [], names: [] }, {}); }
  }
  return { state, root, adopt, adoptSafely };
}

// ------------------------------------------------------------------------------------------------------------------ begin

const host = document.querySelector("[data-linsep]");
if (host) {
  const given = JSON.parse(document.getElementById("linsep-start").textContent), linked = unpacked(location.hash);
  const { points, settings } = PRESETS.worked.make(), example = { points, settings: { ...settings, ...given.settings }, said: PRESETS.worked.said, preset: "worked" };
  host.page = mount(host, linked ?? (given.points ? given : example)); // for scripts: page.state, page.adopt(points, settings)
  addEventListener("hashchange", () => { const found = unpacked(location.hash); if (found) host.page.adoptSafely(found); });
}
