// The page of linsep explore. It draws and asks; everything it shows was computed by linsep in Python.
//
// mount(host, line) builds the page inside an element. `line` is how it reaches Python:
//   line.ask(kind, asked) -> Promise of an answer;  line.first {points, settings, said};  line.presets;
//   line.replay: the embedded run of a saved page, on which nothing can be changed;  line.keep(points, settings).
// One question is on its way at a time, and only the latest one waits.

const SHAPES = [ // of the classes, about one unit in size
  "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z", "M-.9,-.9H.9V.9H-.9Z", "M0,-1.15L1.05,.8H-1.05Z", "M0,-1.25L1.05,0L0,1.25L-1.05,0Z",
  "M-.35,-1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z", "M0,1.15L-1.05,-.8H1.05Z",
  "M0,-1.2L.3,-.4L1.15,-.37L.48,.15L.7,.97L0,.5L-.7,.97L-.48,.15L-1.15,-.37L-.3,-.4Z", "M-1.1,0L-.55,-.95H.55L1.1,0L.55,.95H-.55Z",
  "M-1,-.5H1V.5H-1Z", "M-.5,-1H.5V1H-.5Z",
];
const STOPS = {
  separated: "a full pass without a mistake", max_iter: "the passes are spent", max_updates: "the updates are spent",
  loss_plateau: "the loss no longer falls", validation: "held-out rows get no better",
  margin_refuted: "no plane has the margin asked for",
};
const FIELDS = [ // name, label, kind, what it means
  ["order", "Order", ["cyclic", "shuffled", "first", "worst"], "In which order examples are looked at"],
  ["eta0", "Learning rate η", "number", "From zero weights it changes only the scale of w"],
  ["fit_intercept", "Offset b", "check", "Without an offset the plane goes through the origin"],
  ["start", "Start weights", "list", "A weight for each column, then the offset; empty is zero (two classes)"],
  ["max_iter", "Passes at most", "whole", "max_iter"],
  ["max_updates", "Updates at most", "whole", "max_updates"],
  ["tol", "Loss plateau, tol", "maybe", "Stop when the loss of a pass no longer falls by more than this; empty is off"],
  ["target_margin", "Margin to refute", "maybe", "Stop once the mistakes prove that no plane has this margin; empty is off"],
  ["update_margin", "Update margin", "number", "Update also when y·s(x) is positive but at most this"],
  ["early_stopping", "Early stopping", "check", "Hold out a tenth of the rows; stop when they get no better"],
  ["keep", "Keep", ["last"], "Which weights the run hands over"],
  ["random_state", "Seed", "whole", "Of shuffled order and held-out rows"],
];
const CHARTS = [ // name, title, formula, one sentence
  ["squeeze", "The squeeze", "{u:kηγ} ≤ {thin:w·u} ≤ {w:‖w‖} ≤ {upper:√k ηR}", "A line pushes up from below, a root holds down from above: they meet at (R/γ)², and no run gets past."],
  ["growth", "Growth", "{w:‖w‖²} ≤ {upper:kη²R²}", "Each mistake adds at most η²R² to the squared length of w."],
  ["cosine", "Angle", "{w:cos∠(w,u)} ≥ {u:√k γ/R}", "w turns towards u, the plane of largest margin."],
  ["running", "Bound on γ", "{u:γ} ≤ {w:‖w‖/(ηk)}", "The run itself bounds the largest margin from above, free of charge; without a plane it sinks to zero."],
  ["loss", "Loss", "{w:Σ max(0, −y s(x))}", "What the points looked at in a pass were short of, summed."],
  ["errors", "Per pass", "{w:mistakes}, {upper:errors}", "Mistakes made during a pass, and points wrong at its end."],
];
const TOOLS = [["move", "Add / move"], ["relabel", "Relabel"], ["delete", "Delete"]];
const HELP = [
  ["click", "add a point with the label chosen above the plot"], ["drag", "move a point, also with a finger"], ["double click", "give a point the next label"],
  ["right click", "delete a point"], ["Tab, N, P", "go to the points, to the next, to the one before"], ["arrows", "move it; with Shift in small steps"],
  ["1, 2, … or L", "give it that label, or the next"], ["A, Delete", "add a point beside it, delete it"], ["Space", "run or pause"], ["over a chart", "the plane moves to that mistake; arrows too"],
];
const SPEEDS = [1, 2, 5, 15, 60];

// ------------------------------------------------------------------------------------------------ elements and numbers

function element(space, name, attributes = {}, ...children) {
  const made = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}
const html = (name, attributes, ...children) => element(null, name, attributes, ...children);
const svg = (name, attributes, ...children) => element("http://www.w3.org/2000/svg", name, attributes, ...children);
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const set = (node, attributes) => { for (const key in attributes) node.setAttribute(key, attributes[key]); };
const quiet = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function number(value, digits = 4) {
  if (value == null) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}
const vector = (values, columns) => `(${values.map((v) => number(v)).join(", ")}${columns > values.length ? ", …" : ""})`;
const signed = (value) => (value < 0 ? `− ${number(-value)}` : `+ ${number(value)}`);
const coloured = (formula) => formula.split(/\{(\w+):(.*?)\}/).map((text, i, all) => (i % 3 === 0 ? text : i % 3 === 2 ? html("span", { class: `ink-${all[i - 1]}` }, text) : null)).filter((node) => node !== null);
const tag = (label) => (typeof label === "number" ? String(label).replace("-", "−") : label);
const name = (row) => `p${row + 1}`;

function ticks(low, high, about = 4) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.99);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) found.push(Math.abs(t) < step / 1e6 ? 0 : t);
  return found;
}

// The part of a polygon where a·x + b·y + c >= 0 (Sutherland & Hodgman 1974).
function clip(polygon, [a, b, c]) {
  const side = ([x, y]) => a * x + b * y + c;
  return polygon.flatMap((p, i) => {
    const q = polygon[(i + 1) % polygon.length], s = side(p), t = side(q), out = s >= 0 ? [p] : [];
    if ((s >= 0) !== (t >= 0)) out.push([p[0] + (q[0] - p[0]) * s / (s - t), p[1] + (q[1] - p[1]) * s / (s - t)]);
    return out;
  });
}

// ------------------------------------------------------------------------------------------------------------ the page

export function mount(host, line) {
  const state = {
    rows: [], labels: [], names: [], settings: {}, classes: [-1, 1], label: 1, tool: "move",
    shown: null, index: 0, box: null, chosen: 0, playing: 0, speed: 2, seed: 0,
  };
  const part = {}; // named elements
  const root = build();
  host.replaceChildren(root);

  // -------------------------------------------------------------------------------------------------------- structure

  function build() {
    const named = (key, node) => (part[key] = node);
    const button = (key, text, label, click, more = {}) =>
      named(key, html("button", { type: "button", "aria-label": label, title: label, "data-do": key, onclick: click, ...more }, text));
    const fact = (key, label, title) => html("div", { title }, html("dt", {}, label), named(`fact-${key}`, html("dd", { "data-fact": key }, "–")));
    const live = !line.replay;

    const preset = named("preset", html("select", { "aria-label": "Example", "data-do": "preset", onchange: loadPreset },
      html("option", { value: "" }, "Own points"), ...(line.presets ?? []).map((p) => html("option", { value: p.name }, p.title))));
    const margin = named("margin", html("input", { type: "range", min: 0.01, max: 0.5, step: 0.01, value: 0.15, "aria-label": "Margin of the teacher's data", "data-do": "margin", oninput: () => askPreset() }));
    const bar = html("header", { class: "bar" },
      html("h1", {}, "linsep ", html("span", {}, live ? "explore" : "replay")),
      live ? html("label", {}, "Example ", preset) : null,
      live ? named("teacher", html("span", { class: "teacher", hidden: true }, html("label", {}, "Margin ", margin), named("marginValue", html("output", {}, "0.15")),
        button("again", "Draw again", "Draw new points from the teacher", () => { state.seed += 1; askPreset(); }))) : null,
      html("span", { class: "fill" }),
      live ? html("details", { class: "menu" }, html("summary", { "data-do": "data" }, "Data"), html("div", {},
        html("label", {}, "Paste points: coordinates, then the label, a line each",
          named("paste", html("textarea", { rows: 6, spellcheck: "false", "data-do": "paste", placeholder: "x1,x2,label\n0.5,1,1\n-1,0.25,-1" }))),
        button("usePaste", "Use these points", "Use the pasted points", () => readText(part.paste.value)),
        html("label", { class: "file" }, "or open a CSV file ", named("file", html("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", "data-do": "file", onchange: readFile }))),
        button("clear", "Remove all points", "Remove all points", () => adopt({ rows: [], labels: [], names: [] })))) : null,
      html("details", { class: "menu" }, html("summary", { "data-do": "share" }, "Share"), html("div", { class: "list" },
        button("png", "Picture (PNG)", "Save the plane as PNG", () => savePicture("png")),
        button("svg", "Picture (SVG)", "Save the plane as SVG", () => savePicture("svg")),
        button("csv", "Points (CSV)", "Save the points as CSV", () => saveText("csv", "points.csv", "text/csv")),
        button("python", "Python script", "Save a script that makes this run", () => saveText("python", "run.py", "text/x-python")),
        live ? button("html", "Replay (HTML)", "Save one file that replays the run anywhere", () => saveText("html", "run.html", "text/html")) : null,
        live && line.address ? button("link", "Copy link", "Copy the address of these points", copyLink) : null)),
      html("details", { class: "menu" }, html("summary", { "data-do": "help" }, "Help"), html("div", {},
        html("dl", { class: "keys" }, ...HELP.flatMap(([keys, what]) => [html("dt", {}, keys), html("dd", {}, what)])))),
      button("large", "A+", "Larger type", () => { root.classList.toggle("large"); part.large.setAttribute("aria-pressed", root.classList.contains("large")); resize(); }, { "aria-pressed": "false" }),
      button("theme", "◐", "Light or dark", () => { root.dataset.theme = dark() ? "light" : "dark"; }));

    const tools = html("div", { class: "tools", role: "toolbar", "aria-label": "What a click does", hidden: !live },
      html("span", { class: "group" }, ...TOOLS.map(([key, text]) => button(`tool-${key}`, text, text, () => { state.tool = key; drawTools(); }))),
      named("chips", html("span", { class: "group chips", role: "group", "aria-label": "Label of new points" })));
    part.plot = svg("svg", { class: "plot", role: "group", "aria-label": "Points and planes", "data-part": "plot" });
    const range = named("slider", html("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Mistake", "data-do": "slider", oninput: () => { pause(); go(+part.slider.value); } }));
    const transport = html("div", { class: "transport", role: "toolbar", "aria-label": "The run" },
      button("start", "«", "To the start", () => { pause(); go(0); }), button("back", "‹", "One mistake back", () => { pause(); go(state.index - 1); }),
      button("run", "▶ Run", "Run or pause", toggle), button("step", "›", "One mistake on", () => { pause(); go(state.index + 1); }),
      button("end", "»", "To the end", () => { pause(); go(Infinity); }),
      named("moment", html("output", { class: "moment", "data-part": "moment" }, "–")),
      html("label", {}, named("speed", html("select", { "data-do": "speed", "aria-label": "Mistakes a second", onchange: () => { state.speed = +part.speed.value; if (state.playing) { pause(); toggle(); } } },
        ...SPEEDS.map((s) => html("option", { value: s, selected: s === 2 }, `${s}/s`))))), range);
    const step = html("section", { class: "card step", "aria-label": "This update", "data-part": "step" }, ...[0, 1, 2, 3].map((i) => named(`step${i}`, html("p", {}, "\u00a0"))));
    const fields = named("fields", html("fieldset", { disabled: !live }, html("legend", { class: "unseen" }, "Settings"),
      ...FIELDS.map(([key, label, kind, title]) => {
        const common = { "data-set": key, "aria-label": label, onchange: readFields };
        const input = Array.isArray(kind) ? html("select", common, ...kind.map((k) => html("option", {}, k)))
          : kind === "check" ? html("input", { type: "checkbox", ...common })
          : html("input", { type: kind === "list" ? "text" : "number", step: "any", placeholder: kind === "maybe" ? "off" : kind === "list" ? "0" : null, ...common });
        return html("label", { title }, html("span", {}, label), named(`set-${key}`, input));
      }),
      named("columns", html("label", { title: "Which columns are learnt from and shown", hidden: true }, html("span", {}, "Columns"),
        named("set-columns", html("select", { "data-set": "columns", "aria-label": "Columns", onchange: readFields }))))));
    const board = html("section", { class: "board", "aria-label": "The plane" }, tools,
      html("div", { class: "frame" }, part.plot, button("fit", "Fit", "Fit the view to the points", () => { fitBox(); drawAll(); }), named("hint", html("p", { class: "hint" }))), named("legend", html("div", { class: "legend", "aria-hidden": "true" })),
      transport, step, html("details", { class: "card settings", open: (host.clientWidth || innerWidth) > 700 }, html("summary", {}, "Settings of the run"), fields));

    const verdict = html("section", { class: "card verdict", "aria-label": "Verdict" },
      named("kind", html("p", { class: "kind", role: "status", "data-part": "kind" }, "…")), named("kindSaid", html("p", { class: "small" }, "\u00a0")),
      html("dl", {}, fact("mistakes", "mistakes k", "Updates made in training"), fact("allowed", "bound", "The mistake bound, from (R/γ)²"),
        fact("radius", "R", "Largest norm of a point; with offset of (x, 1)"), fact("gamma", "γ", "Largest margin; with offset of (x, 1)"),
        fact("widest", "widest margin", "The largest margin as people draw it, certified"), fact("margin", "this plane’s", "Margin of the last plane, negative if a point is wrong"),
        fact("errors", "points wrong", "At the end of the run"), fact("stop", "ended", "Why the run ended")));
    const charts = html("section", { class: "charts", "aria-label": "Charts" }, ...CHARTS.map(([key, title, formula, said]) =>
      html("figure", { class: "card", "data-chart": key }, html("figcaption", {}, html("b", {}, title), " ", html("i", {}, ...coloured(formula)), named(`value-${key}`, html("output", {}, "\u00a0"))),
        named(`chart-${key}`, svg("svg", { tabindex: 0, role: "img", "aria-label": title })), html("p", { class: "small" }, said))));
    part.proof = html("section", { class: "card proof", "aria-label": "The proof", "data-part": "proof" });
    part.status = html("p", { class: "status", role: "alert", "data-part": "status" });
    return html("div", { class: "linsep", "data-state": "busy", "data-mode": live ? "live" : "replay" }, bar, part.status,
      html("div", { class: "stage" }, board, html("div", { class: "side" }, verdict, part.proof, charts)));
  }

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
      const asked = { points: { rows: state.rows, labels: state.labels, names: state.names }, settings: state.settings };
      const count = state.rows.length;
      let answer;
      try { answer = await line.ask("compute", asked); } catch (error) { answer = { error: `no answer: ${error.message}` }; }
      try { if (count === state.rows.length) show(answer); } catch (error) { console.error(error); }
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
    const before = state.shown;
    state.shown = answer;
    for (const c of answer.classes) if (!state.classes.includes(c)) state.classes.push(c);
    const last = answer.run ? answer.run.frames.length - 1 : 0;
    state.index = atEnd ? last : Math.min(state.index, last);
    part.slider.max = last;
    if (answer.view.kind === "projection" || !state.box || before?.view.kind !== answer.view.kind) fitBox();
    drawAll();
  }

  function adopt(points, settings, said) {
    pause();
    drag = null;
    Object.assign(state, { rows: points.rows.map((r) => [...r]), labels: [...points.labels], names: [...(points.names ?? [])], chosen: 0, shown: null, box: null });
    if (settings) state.settings = { ...settings };
    else state.settings = { ...state.settings, columns: null, start: [] };
    state.classes = [...new Set(points.labels)].sort((p, q) => (typeof p === "number" ? p - q : p < q ? -1 : 1));
    if (state.classes.length < 2) state.classes = [...new Set([...state.classes, ...(typeof state.classes[0] === "string" ? ["A", "B"] : [-1, 1])])].slice(0, 2);
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
    if (got && mine === presetAsked) await adopt(got.points, got.settings, got.said);
  }
  async function readText(text) {
    const got = await ask("read", { text });
    if (!got) return;
    own();
    root.querySelectorAll("details.menu").forEach((menu) => { menu.open = false; });
    await adopt(got.points, null, got.said);
  }
  async function readFile() {
    const file = part.file.files[0];
    part.file.value = "";
    if (!file) return;
    if (file.size > 3e6) complain("the file has more than 3 MB: linsep explore FILE takes larger ones");
    else readText(await file.text());
  }
  const own = () => { if (part.preset) part.preset.value = ""; if (part.teacher) part.teacher.hidden = true; };

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
    for (const [key, , kind] of FIELDS) {
      const input = part[`set-${key}`], text = input.value.trim();
      if (kind === "check") state.settings[key] = input.checked;
      else if (Array.isArray(kind)) state.settings[key] = text;
      else if (kind === "list") state.settings[key] = text ? text.split(/[\s,;]+/).map(Number) : [];
      else state.settings[key] = text === "" && kind === "maybe" ? null : Number(text);
    }
    const pair = part["set-columns"].value;
    const columns = pair ? pair.split(" ").map(Number) : null;
    if (String(columns) !== String(state.settings.columns)) state.box = null;
    state.settings.columns = columns;
    refresh();
  }

  // ------------------------------------------------------------------------------------------------------ the plot

  let scale = null; // data to pixels
  const shownColumns = () => {
    const d = state.rows[0]?.length ?? 2;
    return d <= 2 ? [0, 1] : state.settings.columns; // null: a projection, on which points cannot be moved
  };
  const place = (i) => {
    const columns = shownColumns();
    return columns ? columns.map((j) => state.rows[i][j] ?? 0) : state.shown?.points[i] ?? [0, 0];
  };
  const editable = () => !line.replay && shownColumns() !== null;

  function fitBox() {
    moved = true;
    const all = state.rows.map((_, i) => place(i));
    if (state.settings.fit_intercept === false || all.length < 2) all.push([0, 0]);
    if (all.length < 3) all.push([-1, -1], [1, 1]);
    const range = (j) => { const v = all.map((p) => p[j]); return [Math.min(...v), Math.max(...v)]; };
    const [[x0, x1], [y0, y1]] = [range(0), range(1)];
    const wide = x1 - x0 || y1 - y0 || 1, high = y1 - y0 || wide / 4;
    state.box = { x0: x0 - 0.14 * wide, x1: x1 + 0.14 * wide, y0: y0 - 0.14 * high, y1: y1 + 0.14 * high, equal: Math.max(wide / high, high / wide) < 8 };
  }

  function measure() {
    const width = part.plot.clientWidth || 600, height = part.plot.clientHeight || 440, { x0, x1, y0, y1, equal } = state.box;
    let sx = width / (x1 - x0), sy = height / (y1 - y0);
    if (equal) sx = sy = Math.min(sx, sy);
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const X = (x) => width / 2 + (x - cx) * sx, Y = (y) => height / 2 - (y - cy) * sy;
    const left = cx - width / 2 / sx, right = cx + width / 2 / sx, bottom = cy - height / 2 / sy, top = cy + height / 2 / sy;
    scale = {
      width, height, sx, sy, X, Y, left, right, bottom, top,
      inverse: (px, py) => [cx + (px - width / 2) / sx, cy - (py - height / 2) / sy],
      corners: [[left, bottom], [right, bottom], [right, top], [left, top]],
      snap: 2 ** Math.floor(Math.log2(Math.max(1 / sx, 1 / sy))), // moved points are short binary fractions, and so are proofs
    };
  }
  const path = (points) => (points.length ? `M${points.map(([x, y]) => `${scale.X(x).toFixed(2)},${scale.Y(y).toFixed(2)}`).join("L")}Z` : "");
  function cut([a, b, c]) { // a plane as a line across the picture
    const ends = Math.abs(a) * scale.sy > Math.abs(b) * scale.sx
      ? [scale.bottom, scale.top].map((y) => [-(b * y + c) / a, y]) : [scale.left, scale.right].map((x) => [x, -(a * x + c) / b]);
    return Number.isFinite(ends[0][0] + ends[0][1] + ends[1][0] + ends[1][1]) ? path(ends).slice(0, -1) : "";
  }

  let layer = {}, dots = [], moved = true; // moved: points are no longer where they are drawn
  function drawPlot() {
    measure();
    moved = false;
    const { width, height, X, Y } = scale;
    set(part.plot, { viewBox: `0 0 ${width} ${height}` });
    layer = {};
    const group = (key, ...more) => (layer[key] = svg("g", { class: key }, ...more));
    const axes = group("axes");
    for (const x of ticks(scale.left, scale.right, width / 110)) axes.append(svg("line", { x1: X(x), x2: X(x), y1: 0, y2: height, class: x === 0 ? "zero" : null }), svg("text", { x: X(x) + 4, y: height - 6 }, number(x, 3)));
    for (const y of ticks(scale.bottom, scale.top, height / 90)) axes.append(svg("line", { y1: Y(y), y2: Y(y), x1: 0, x2: width, class: y === 0 ? "zero" : null }), Y(y) < 34 ? "" : svg("text", { x: 6, y: Y(y) - 4 }, number(y, 3)));
    const [across, up] = state.shown?.view.axes ?? ["", ""];
    axes.append(svg("text", { x: width - 8, y: height - 6, class: "axis", "text-anchor": "end" }, across), svg("text", { x: 6, y: 16, class: "axis" }, up));
    part.plot.replaceChildren(group("regions"), axes, group("widest"), group("links"), group("plane"), group("points", ...state.rows.map(drawPoint)), group("marks"));
    dots = [...layer.points.children];
    drawWidest();
    drawLinks();
  }
  function drawPoint(_, i) {
    const code = state.classes.indexOf(state.labels[i]), [x, y] = place(i);
    return svg("g", {
      class: `point c${code}`, "data-point": i, tabindex: i === state.chosen ? 0 : -1, role: "button", transform: `translate(${scale.X(x)},${scale.Y(y)})`,
      "aria-label": `${name(i)}, label ${state.labels[i]}, at ${number(x)}, ${number(y)}`,
    }, svg("circle", { r: 16, class: "reach" }), svg("path", { d: SHAPES[code], transform: `scale(${baseSize()})` }), state.rows.length <= 12 ? svg("text", { x: 11, y: -9 }, name(i)) : null);
  }
  const baseSize = () => (state.rows.length > 300 ? 3.5 : state.rows.length > 80 ? 5 : 6.5);

  function drawWidest() {
    const margin = state.shown?.margin;
    if (!margin || margin.planes.length > 1) return;
    const [a, b, c] = margin.planes[0];
    const band = clip(clip(scale.corners, [a, b, c + margin.lower]), [-a, -b, margin.lower - c]);
    layer.widest.append(svg("path", { d: path(band), class: "band" }), svg("path", { d: cut([a, b, c]), class: "u" }));
    for (const i of margin.support) layer.widest.append(svg("circle", { cx: scale.X(place(i)[0]), cy: scale.Y(place(i)[1]), r: 11, class: "support" }));
  }
  function drawLinks() { // rows that contradict each other: the hulls of the two classes meet
    const verdict = state.shown?.verdict, refuted = verdict?.refutation;
    if (!refuted) return;
    if (verdict.plane) layer.links.append(svg("path", { d: cut(verdict.plane), class: "weak" }));
    const groups = new Map();
    refuted.rows.forEach((row) => { const key = state.shown.run.offset && state.classes.length === 2 ? state.labels[row] : "all"; groups.set(key, [...(groups.get(key) ?? []), row]); });
    for (const [key, rows] of groups) {
      const spots = [...new Set(rows)].map(place), mx = spots.reduce((s, p) => s + p[0], 0) / spots.length, my = spots.reduce((s, p) => s + p[1], 0) / spots.length;
      spots.sort((p, q) => Math.atan2(p[1] - my, p[0] - mx) - Math.atan2(q[1] - my, q[0] - mx));
      layer.links.append(svg("path", { d: path(spots), class: `link c${state.classes.indexOf(key)}` }));
    }
    new Set(refuted.rows).forEach((row) => {
      const [x, y] = place(row);
      layer.links.append(svg("circle", { cx: scale.X(x), cy: scale.Y(y), r: 13, class: "refuting" }));
      if (state.rows.length > 12) layer.links.append(svg("text", { x: scale.X(x) + 14, y: scale.Y(y) - 10 }, name(row)));
    });
  }

  // What changes from mistake to mistake: cheap, so that scrubbing keeps up with the screen.
  let drawnCounts = [];
  function drawMoment() {
    const run = state.shown?.run;
    part.slider.value = state.index;
    for (const key of ["regions", "plane", "marks"]) layer[key]?.replaceChildren();
    if (!run) { put(part.moment, "–"); return; }
    const k = run.frames[state.index], planes = run.planes[state.index];
    put(part.moment, `mistake ${k} of ${run.mistakes}`);
    part.slider.setAttribute("aria-valuetext", `mistake ${k} of ${run.mistakes}`);
    drawPlanes(planes);
    const counts = new Array(state.rows.length).fill(0);
    for (let t = 0; t < k; t++) counts[run.trace[t]]++;
    const most = Math.max(1, ...run.counts);
    counts.forEach((count, i) => {
      if (drawnCounts[i] !== count || drawnCounts.most !== most) dots[i]?.children[1].setAttribute("transform", `scale(${baseSize() * (1 + 0.9 * Math.sqrt(count / most))})`);
    });
    drawnCounts = counts;
    drawnCounts.most = most;
    if (k > 0 && run.trace[k - 1] < state.rows.length) {
      const row = run.trace[k - 1], [x, y] = place(row);
      layer.marks.append(svg("circle", { cx: scale.X(x), cy: scale.Y(y), r: 19, class: "current" }));
      if (state.rows.length > 12) layer.marks.append(svg("text", { x: scale.X(x) + 21, y: scale.Y(y) + 5 }, name(row)));
    }
    if (run.kept && state.index === run.frames.length - 1 && run.kept.length === 1) layer.marks.append(svg("path", { d: cut(run.kept[0]), class: "kept" }));
  }
  function drawPlanes(planes) {
    if (planes.length > 1) {
      planes.forEach((own, c) => {
        let region = scale.corners;
        planes.forEach((rival, r) => { if (r !== c) region = clip(region, own.map((v, j) => v - rival[j])); });
        if (planes.some((p) => p.some((v) => v !== 0))) layer.regions.append(svg("path", { d: path(region), class: `region c${state.classes.indexOf(state.shown.classes[c])}` }));
      });
      return;
    }
    const [a, b, c] = planes[0], size = Math.hypot(a, b);
    const [minus, plus] = state.shown.classes.map((label) => state.classes.indexOf(label));
    if (a || b || c) layer.regions.append(svg("path", { d: path(clip(scale.corners, [a, b, c])), class: `region c${plus}` }), svg("path", { d: path(clip(scale.corners, [-a, -b, -c])), class: `region c${minus}` }));
    if (!size) return;
    const mx = (scale.left + scale.right) / 2, my = (scale.bottom + scale.top) / 2, away = (a * mx + b * my + c) / size ** 2;
    let dx = a * scale.sx, dy = -b * scale.sy;
    const long = Math.hypot(dx, dy), reach = 0.13 * Math.min(scale.width, scale.height);
    [dx, dy] = [dx / long, dy / long];
    const x = Math.min(scale.width - 20, Math.max(20, scale.X(mx - a * away))), y = Math.min(scale.height - 20, Math.max(20, scale.Y(my - b * away)));
    const [tx, ty] = [x + dx * reach, y + dy * reach];
    layer.plane.append(svg("path", { d: cut([a, b, c]), class: "w", "data-part": "plane" }), svg("path", { class: "arrow", d: `M${x},${y}L${tx},${ty}` }),
      svg("path", { class: "head", d: `M${tx + dx * 9},${ty + dy * 9}L${tx - dy * 5},${ty + dx * 5}L${tx + dy * 5},${ty - dx * 5}Z` }), svg("text", { x: tx + dx * 20 - 5, y: ty + dy * 20 + 5 }, "w"));
  }

  // ------------------------------------------------------------------------------------------- words about this moment

  function drawStep() {
    const run = state.shown?.run, lines = ["\u00a0", "\u00a0", "\u00a0", "\u00a0"];
    if (run) {
      const k = run.frames[state.index], before = run.before[state.index], after = run.after[state.index], d = run.columns;
      const eta = number(run.eta), head = (w) => vector(w.slice(0, -1), d);
      if (k === 0) {
        lines[0] = "Before the first mistake";
        lines[1] = after.length > 1 ? `all ${after.length} weight vectors are zero` : `w = ${head(after[0])}${run.offset ? `, b = ${number(after[0].at(-1))}` : ""}`;
      } else {
        const row = run.trace[k - 1], x = vector(run.inputs[row], d), lead = run.leads[state.index];
        const pass = run.pass.number[run.pass.end.findIndex((end) => end >= k)] ?? run.passes;
        lines[0] = `Mistake ${k}, in pass ${pass}: ${name(row)}, x = ${x}, label ${tag(state.labels[row])}`;
        if (after.length === 1) {
          const y = state.labels[row] === state.shown.classes[1] ? 1 : -1, [v, w] = [before[0], after[0]];
          lines[1] = `y (w·x${run.offset ? " + b" : ""}) = ${number(lead)} ≤ ${number(run.update_margin)}: ${lead < 0 ? "on the wrong side" : lead > 0 ? "too near" : "on the plane, which counts as wrong"}`;
          lines[2] = `w ← w + η y x = ${head(v)} ${y > 0 ? "+" : "−"} ${eta}·${x} = ${head(w)}`;
          lines[3] = run.offset ? `b ← b + η y = ${number(v.at(-1))} ${signed(y * run.eta)} = ${number(w.at(-1))}` : "no offset: the plane stays at the origin";
        } else {
          const own = state.shown.classes.indexOf(state.labels[row]), rival = run.rivals[state.index], label = (c) => state.shown.classes[c];
          lines[1] = `lead of ${label(own)} over ${label(rival)} = ${number(lead)} ≤ 0: not strictly highest`;
          lines[2] = `Θ(${label(own)}) ← ${head(before[own])} + ${eta}·${x} = ${head(after[own])}${run.offset ? `, b = ${number(after[own].at(-1))}` : ""}`;
          lines[3] = `Θ(${label(rival)}) ← ${head(before[rival])} − ${eta}·${x} = ${head(after[rival])}${run.offset ? `, b = ${number(after[rival].at(-1))}` : ""}`;
        }
      }
    }
    lines.forEach((text, i) => put(part[`step${i}`], text));
  }

  function drawVerdict() {
    const { run, verdict, margin, theorem } = state.shown ?? {};
    const kinds = { separable: "Separable", quasi: "Only weakly separable", overlap: "Not separable", unknown: "Undecided" };
    put(part.kind, verdict ? kinds[verdict.kind] : "No verdict yet");
    root.dataset.verdict = verdict?.kind ?? "";
    const rows = verdict?.refutation ? [...new Set(verdict.refutation.rows)].map(name) : [];
    put(part.kindSaid, !verdict ? "Two classes are needed." : verdict.kind === "separable" ? "Some plane has every point strictly on its side: proved in exact arithmetic."
      : verdict.kind === "quasi" ? `A plane is weakly right, none strictly: ${rows.join(", ")} contradict each other, exactly.`
      : verdict.kind === "overlap" ? `${rows.join(", ")} contradict each other: proved in exact arithmetic.` : "The time for the search was spent.");
    const tell = (key, value, text) => {
      const node = part[`fact-${key}`];
      put(node, text ?? (typeof value === "number" ? number(value, 5) : value ?? "–"));
      node.dataset.value = value ?? "";
    };
    tell("mistakes", run?.mistakes, run && String(run.mistakes));
    tell("allowed", theorem?.allowed, theorem?.allowed == null ? (verdict && verdict.kind !== "separable" ? "none" : "–") : `≤ ${theorem.allowed}`);
    tell("radius", theorem?.radius ?? run?.radius);
    tell("gamma", theorem?.margin);
    tell("widest", margin?.lower);
    tell("margin", run?.margin);
    tell("errors", run?.errors, run && `${run.errors} of ${run.rows}`);
    tell("stop", run?.stop, run?.stop.replace("_", " "));
    part["fact-stop"].parentNode.title = STOPS[run?.stop] ?? "Why the run ended";
  }

  let walkTimer = 0, walked = "";
  function drawProof() {
    const { theorem, verdict, run } = state.shown ?? {}, refuted = verdict?.refutation;
    if (theorem) {
      if (part.proof.dataset.about !== "theorem") {
        part.proof.dataset.about = "theorem";
        const lemma = (key, title, words) => html("div", {}, html("h3", {}, title), html("p", {}, words), (part[`proof-${key}`] = html("p", { class: "numbers", "data-proof": key })));
        part.proof.replaceChildren(html("h2", {}, "The proof, with the numbers of this run"),
          html("div", { class: "lemmas" },
            lemma("one", "1 · Mistakes are progress", "u has y u·x ≥ γ everywhere, so w·u grows by at least ηγ."),
            lemma("two", "2 · w cannot grow fast", "At a mistake y w·x ≤ 0, so ‖w‖² grows by at most η²R²."),
            lemma("end", "Therefore", "w·u ≤ ‖w‖ squeezes k: the line kηγ stays under the root √k ηR.")),
          (part.checked = html("p", { class: "small" })));
      }
      const at = state.index, k = run.frames[at], eta = number(run.eta), ok = (right) => (right ? "✓" : "✗");
      const zero = theorem.from_zero, more = run.update_margin ? " + 2kηm" : "";
      const near = (x) => Math.abs(x) * 1e-9;
      put(part["proof-one"], `w·u = ${number(theorem.progress[at], 5)} ≥ ${zero ? "" : "w₀·u + "}kηγ = ${zero ? `${k}·${eta}·${number(theorem.margin)} = ` : ""}${number(theorem.progress_bound[at], 5)} ${ok(theorem.progress[at] >= theorem.progress_bound[at] - near(theorem.progress_bound[at]))}`);
      put(part["proof-two"], `‖w‖² = ${number(theorem.growth[at], 5)} ≤ ${zero ? "" : "‖w₀‖² + "}kη²R²${more} = ${zero && !more ? `${k}·${eta}²·${number(theorem.radius)}² = ` : ""}${number(theorem.growth_bound[at], 5)} ${ok(theorem.growth[at] <= theorem.growth_bound[at] + near(theorem.growth_bound[at]))}`);
      put(part["proof-end"], `k = ${run.mistakes} ≤ ${zero && !more ? `(R/γ)² = (${number(theorem.radius)}/${number(theorem.margin)})² = ` : "the largest k that fits = "}${number(theorem.limit, 6)} ${ok(run.mistakes <= theorem.limit + near(theorem.limit))}`);
      put(part.checked, `${theorem.holds ? `All ${run.mistakes} steps checked: every inequality holds.` : theorem.violation}${theorem.form === "augmented" ? " With an offset, R, γ and w are those of the points (x, 1)." : ""}${run.after[0].length > 1 ? " With more classes w is all weight vectors together, and R is √2 times the longest point." : ""}`);
    } else if (refuted) {
      const rows = refuted.rows.join();
      if (part.proof.dataset.about !== `refutation ${rows}`) {
        part.proof.dataset.about = `refutation ${rows}`;
        walked = "";
        part.proof.replaceChildren(html("h2", {}, "No plane: these points contradict each other"),
          html("div", { class: "refutation" }, (part.walk = svg("svg", { class: "walk", role: "img", "aria-label": "The weighted points add up to zero" })),
            html("div", {}, (part.cancel = html("ul", { "data-part": "cancel" })), html("p", { class: "small" }, "A plane that is right about all of them would make the weighted sum of y(w·x + b) positive. The sum is zero, whatever the plane."),
              html("button", { type: "button", "data-do": "walk", onclick: () => { walked = ""; drawWalk(refuted); } }, "Watch them cancel"))));
      }
      const two = state.shown.classes.length === 2;
      part.cancel.replaceChildren(...refuted.rows.map((row, i) => html("li", { class: `c${state.classes.indexOf(state.labels[row])}`, title: `exactly ${refuted.weights[i]}` },
        html("b", {}, name(row)), ` ${refuted.weights[i].length < 10 ? refuted.weights[i] : `${number(refuted.shares[i])}…`} × ${two ? (state.labels[row] === state.shown.classes[1] ? "(+x)" : "(−x)") : `(${state.labels[row]} against ${state.shown.classes[refuted.rivals[i]]})`}`)),
        html("li", { class: "sum" }, html("b", {}, "sum"), ` ${run.offset ? "Σλyx = 0 and Σλy = 0" : "Σλyx = 0"}, exactly`));
      drawWalk(refuted);
    } else {
      part.proof.dataset.about = "nothing";
      part.proof.replaceChildren(html("h2", {}, "The proof"), html("p", { class: "small" }, state.shown?.note || "It appears here as soon as there are points of two classes."));
    }
  }
  function drawWalk(refuted) {
    const width = part.walk.clientWidth || 220, height = part.walk.clientHeight || 180;
    const all = refuted.walks.flatMap((walk) => walk.sums), xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const size = Math.min((width - 60) / Math.max(x1 - x0, 1e-12), (height - 60) / Math.max(y1 - y0, 1e-12));
    const at = ([x, y]) => [width / 2 + (x - (x0 + x1) / 2) * size, height / 2 - (y - (y0 + y1) / 2) * size];
    const steps = Math.max(...refuted.walks.map((walk) => walk.rows.length));
    const draw = (t) => {
      part.walk.replaceChildren(svg("circle", { cx: at([0, 0])[0], cy: at([0, 0])[1], r: 5, class: "origin" }), svg("text", { x: at([0, 0])[0] + 9, y: at([0, 0])[1] + 16 }, "0"));
      refuted.walks.forEach((walk, w) => walk.rows.forEach((row, i) => {
        const done = Math.min(1, Math.max(0, t - i));
        if (!done) return;
        const [p, q] = [at(walk.sums[i]), at(walk.sums[i + 1])], e = [p[0] + (q[0] - p[0]) * done, p[1] + (q[1] - p[1]) * done];
        const long = Math.hypot(e[0] - p[0], e[1] - p[1]) || 1, [dx, dy] = [(e[0] - p[0]) / long, (e[1] - p[1]) / long], colour = `c${state.classes.indexOf(state.labels[row])}`;
        part.walk.append(svg("path", { class: `leg ${colour}`, d: `M${p}L${e}` }), svg("path", { class: `tip ${colour}`, d: `M${e}L${[e[0] - dx * 9 - dy * 4.5, e[1] - dy * 9 + dx * 4.5]}L${[e[0] - dx * 9 + dy * 4.5, e[1] - dy * 9 - dx * 4.5]}Z` }),
          w > 0 || Math.hypot(q[0] - p[0], q[1] - p[1]) < 12 ? "" : svg("text", { x: (p[0] + q[0]) / 2 - dy * 12, y: (p[1] + q[1]) / 2 + dx * 12 + 4, "text-anchor": "middle" }, name(row)));
      }));
    };
    const key = refuted.rows.join();
    cancelAnimationFrame(walkTimer);
    if (walked === key || quiet()) { walked = key; draw(steps); return; }
    walked = key;
    let begun = null;
    const frame = (now) => {
      begun ??= now;
      const t = Math.min(steps, (now - begun) / 700);
      draw(t);
      if (t < steps) walkTimer = requestAnimationFrame(frame);
    };
    walkTimer = requestAnimationFrame(frame);
  }

  // ----------------------------------------------------------------------------------------------------------- charts

  // For each chart: lines {x, y, kind}, the value at a moment, how a moment is found under the pointer.
  function chartData() {
    const { run, theorem } = state.shown ?? {}, k = run?.frames;
    if (!run) return {};
    const root = (values) => values.map((v) => (v == null ? null : Math.sqrt(v)));
    const far = theorem && theorem.limit > 12 * Math.max(4, run.mistakes), reach = far ? Math.max(4, run.mistakes) * 2 : Infinity;
    const known = !theorem ? null : far ? { k, progress: theorem.progress_bound, norm: root(theorem.growth_bound), growth: theorem.growth_bound, cosine: theorem.cosine_bound } : theorem.curve;
    const bound = theorem && [{ x: theorem.limit, label: `(R/γ)² = ${number(theorem.limit)}`, far }];
    const found = {
      growth: { lines: [{ x: k, y: run.growth, kind: "w" }, { x: known?.k ?? k, y: known?.growth ?? run.growth_bound, kind: "upper" }], upright: bound, reach, value: (i) => `${number(run.growth[i])} ≤ ${number(run.growth_bound[i])}` },
      running: { lines: [{ x: k, y: run.moved, kind: "w" }], level: theorem && { y: theorem.margin, label: "γ" }, log: true, value: (i) => (run.moved[i] == null ? "∞" : `${theorem ? `${number(theorem.margin)} ≤ ` : ""}${number(run.moved[i])}`) },
      loss: { lines: [{ x: run.pass.number, y: run.pass.loss, kind: "w" }], passes: true, value: (_, p) => number(run.pass.loss[p]) },
      errors: { lines: [{ x: run.pass.number, y: run.pass.mistakes, kind: "w" }, { x: run.pass.number, y: run.pass.errors, kind: "upper" }], passes: true, value: (_, p) => `${run.pass.mistakes[p] ?? 0} made, ${run.pass.errors[p] ?? 0} wrong` },
    };
    if (theorem) {
      found.squeeze = { lines: [{ x: known.k, y: known.progress, kind: "u" }, { x: known.k, y: known.norm, kind: "upper" }, { x: k, y: theorem.progress, kind: "w thin" }, { x: k, y: root(theorem.growth), kind: "w" }], upright: bound, reach, value: (i) => `${number(theorem.progress_bound[i], 3)} ≤ ${number(theorem.progress[i], 3)} ≤ ${number(Math.sqrt(theorem.growth[i]), 3)} ≤ ${number(Math.sqrt(theorem.growth_bound[i]), 3)}` };
      found.cosine = { lines: [{ x: known.k, y: known.cosine, kind: "u" }, { x: k, y: theorem.cosine, kind: "w" }], upright: bound, reach, top: 1, value: (i) => (theorem.cosine[i] == null ? "–" : `${number(theorem.cosine[i])} ≥ ${number(theorem.cosine_bound[i])}`) };
    }
    return found;
  }
  let cursors = {}, charts = {};
  function drawCharts() {
    charts = chartData();
    cursors = {};
    for (const [key] of CHARTS) drawChart(key, charts[key]);
  }
  function drawChart(key, data) {
    const node = part[`chart-${key}`], width = node.clientWidth || 240, height = node.clientHeight || 130;
    set(node, { viewBox: `0 0 ${width} ${height}` });
    node.replaceChildren();
    if (!data) {
      node.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "none" }, state.shown?.verdict && state.shown.verdict.kind !== "separable" ? "no plane, no u" : "–"));
      put(part[`value-${key}`], "\u00a0");
      return;
    }
    const em = parseFloat(getComputedStyle(node).fontSize) || 12, left = em * 3, bottom = height - em * 1.6, right = width - 14, above = em * (data.upright?.[0]?.far ? 2.1 : 0.9);
    const lines = data.lines.map((l) => { const keep = l.x.map((x, i) => [x, l.y[i]]).filter(([x, y]) => y != null && x <= (data.reach ?? Infinity)); return { ...l, keep }; });
    const xs = lines.flatMap((l) => l.keep.map((p) => p[0])), ys = lines.flatMap((l) => l.keep.map((p) => p[1]));
    if (data.level) ys.push(data.level.y);
    const x0 = data.passes ? 1 : 0, x1 = Math.max(x0 + 1, ...xs), positive = ys.filter((v) => v > 0);
    const log = data.log && positive.length > 1 && Math.max(...positive) / Math.min(...positive) > 30;
    const f = log ? (v) => Math.log10(Math.max(v, 1e-12)) : (v) => v;
    const y0 = log ? f(Math.min(...positive)) - 0.1 : Math.min(0, ...ys), y1 = log ? f(Math.max(...positive)) + 0.1 : Math.max(data.top ?? 0, ...ys) || 1;
    const X = (x) => left + (right - left) * (x - x0) / (x1 - x0), Y = (y) => bottom - (bottom - above) * (f(y) - y0) / (y1 - y0);
    for (const x of ticks(x0, x1, 4)) if (Number.isInteger(x)) node.append(svg("text", { x: X(x), y: height - em * 0.4, "text-anchor": "middle" }, number(x, 6)));
    for (const y of ticks(y0, y1, 3)) { const v = log ? 10 ** y : y; node.append(svg("line", { x1: left, x2: right, y1: Y(v), y2: Y(v), class: "grid" }), svg("text", { x: left - 4, y: Y(v) + em * 0.35, "text-anchor": "end" }, number(v, 2))); }
    for (const mark of data.upright ?? []) {
      if (mark.far) node.append(svg("text", { x: right, y: em * 0.9, "text-anchor": "end", class: "label" }, `${mark.label} →`));
      else node.append(svg("line", { x1: X(mark.x), x2: X(mark.x), y1: above, y2: bottom, class: "bound" }), svg("text", { x: X(mark.x) - 4, y: bottom - em * 0.5, "text-anchor": "end", class: "label" }, mark.label));
    }
    if (data.level) node.append(svg("line", { x1: left, x2: right, y1: Y(data.level.y), y2: Y(data.level.y), class: "u" }), svg("text", { x: left + 4, y: Y(data.level.y) - 5, class: "label" }, data.level.label));
    for (const l of lines) {
      node.append(svg("path", { class: `curve ${l.kind}`, d: l.keep.length ? `M${l.keep.map(([x, y]) => `${X(x).toFixed(1)},${Y(y).toFixed(1)}`).join("L")}` : "" }));
      if (l.keep.length < 25 && !l.kind.startsWith("u")) for (const [x, y] of l.keep) node.append(svg("circle", { cx: X(x), cy: Y(y), r: 2.5, class: `spot ${l.kind}` }));
    }
    const cursor = svg("line", { y1: above - 4, y2: bottom, class: "cursor" });
    node.append(cursor);
    cursors[key] = { cursor, X, back: (px) => x0 + (px - left) / (right - left) * (x1 - x0) };
  }
  const passAt = (k) => { const { end } = state.shown.run.pass, p = end.findIndex((e) => e >= k); return p < 0 ? end.length - 1 : p; };
  function drawCursors() {
    const run = state.shown?.run;
    if (!run) return;
    const k = run.frames[state.index], p = passAt(k);
    for (const [key, { cursor, X }] of Object.entries(cursors)) {
      const x = X(charts[key].passes ? run.pass.number[p] : k), value = charts[key].value(state.index, p);
      set(cursor, { x1: x, x2: x });
      put(part[`value-${key}`], value);
      part[`chart-${key}`].setAttribute("aria-label", `${CHARTS.find((c) => c[0] === key)[1]} at mistake ${k}: ${value}`);
    }
  }
  const nearest = (k) => { // frame of a mistake, by bisection
    const frames = state.shown.run.frames;
    let [low, high] = [0, frames.length - 1];
    while (low < high) { const middle = (low + high) >> 1; if (frames[middle] < k) low = middle + 1; else high = middle; }
    return low > 0 && k - frames[low - 1] < frames[low] - k ? low - 1 : low;
  };
  for (const [key] of CHARTS) {
    const node = part[`chart-${key}`];
    const follow = (event) => {
      if (!cursors[key]) return;
      const box = node.getBoundingClientRect(), at = Math.round(cursors[key].back(event.clientX - box.left)), run = state.shown.run;
      pause();
      if (!charts[key].passes) return go(nearest(at));
      const p = Math.max(0, run.pass.number.findIndex((number) => number >= at));
      go(nearest(run.pass.end[p]));
    };
    node.addEventListener("pointermove", follow);
    node.addEventListener("pointerdown", follow);
    node.addEventListener("keydown", walkKeys);
  }

  // ----------------------------------------------------------------------------------------------------------- the run

  function go(index) {
    const last = state.shown?.run ? state.shown.run.frames.length - 1 : 0;
    state.index = Math.max(0, Math.min(last, index));
    drawMoment();
    drawStep();
    drawCursors();
    if (state.shown?.theorem) drawProof();
  }
  function pause() {
    clearInterval(state.playing);
    state.playing = 0;
    put(part.run, "▶ Run");
    part.run.setAttribute("aria-pressed", "false");
  }
  function toggle() {
    if (state.playing) { pause(); return; }
    const last = state.shown?.run ? state.shown.run.frames.length - 1 : 0;
    if (!last) return;
    if (state.index >= last) go(0);
    put(part.run, "⏸ Pause");
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
    if (event.key === "Escape") root.querySelectorAll("details.menu").forEach((menu) => { menu.open = false; });
    if (event.key === " " && !event.target.closest("button, input, select, textarea, summary")) { event.preventDefault(); toggle(); }
  });
  root.addEventListener("pointerdown", (event) => root.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; }));

  // ----------------------------------------------------------------------------------------------------- moving points

  function drawTools() {
    for (const [key] of TOOLS) part[`tool-${key}`].setAttribute("aria-pressed", state.tool === key);
    for (const [key] of TOOLS) part[`tool-${key}`].disabled = !editable();
    const chip = (label, c) => html("button", { type: "button", class: `c${c}`, "data-label": label, "aria-pressed": label === state.label, "aria-label": `New points get label ${label}`, onclick: () => { state.label = label; drawTools(); } },
      svg("svg", { viewBox: "-1.5 -1.5 3 3", "aria-hidden": "true" }, svg("path", { d: SHAPES[c] })), tag(label));
    part.chips.replaceChildren(...state.classes.map(chip), ...(state.classes.length < 10 ? [html("button", { type: "button", "aria-label": "Another class", title: "Another class", "data-do": "class", onclick: addClass }, "+")] : []));
    part.plot.dataset.tool = editable() ? state.tool : "none";
    const c = state.shown?.run && state.shown.classes.length === 2;
    part.legend.replaceChildren(...[["w", "perceptron’s plane", c], ["u", "widest margin", c && state.shown.margin], ["ring", "point of this mistake", state.shown?.run], ["size", "larger: more mistakes on it", state.shown?.run]]
      .map(([kind, text, there]) => html("span", { class: there ? kind : `${kind} faint` }, html("i"), text)));
  }
  function addClass() {
    const words = typeof state.classes[0] === "string";
    let fresh = words ? "A" : Math.max(...state.classes) + 1;
    while (state.classes.includes(fresh)) fresh = words ? String.fromCharCode(fresh.charCodeAt(0) + 1) : fresh + 1;
    state.classes.push(fresh);
    state.label = fresh;
    drawTools();
  }
  const snapped = (value) => Math.round(value / scale.snap) * scale.snap;
  function moveTo(i, x, y) {
    const columns = shownColumns();
    const inside = [Math.min(scale.right, Math.max(scale.left, x)), Math.min(scale.top, Math.max(scale.bottom, y))];
    columns.forEach((j, axis) => { if (j < state.rows[i].length) state.rows[i][j] = snapped(inside[axis]); });
    const spot = place(i);
    dots[i].setAttribute("transform", `translate(${scale.X(spot[0])},${scale.Y(spot[1])})`);
    own();
    refresh();
  }
  function addPoint(x, y) {
    const d = state.rows[0]?.length ?? 2, row = Array(d).fill(0), columns = shownColumns();
    if (d > 2) for (let j = 0; j < d; j++) row[j] = state.rows.reduce((s, r) => s + r[j], 0) / state.rows.length; // the other columns: their mean
    columns.forEach((j, axis) => { if (j < d) row[j] = snapped(axis ? y : x); });
    state.rows.push(row);
    state.labels.push(state.label);
    changed(state.rows.length - 1);
  }
  function removePoint(i) { state.rows.splice(i, 1); state.labels.splice(i, 1); changed(Math.min(i, state.rows.length - 1)); }
  function relabel(i, label) {
    state.labels[i] = label ?? state.classes[(state.classes.indexOf(state.labels[i]) + 1) % state.classes.length];
    changed(i);
  }
  function changed(chosen) { // number or label of points: what was shown no longer fits
    own();
    pause();
    const focus = part.plot.contains(part.plot.getRootNode().activeElement);
    state.chosen = Math.max(0, chosen);
    if (state.shown) state.shown = { ...state.shown, run: null, verdict: null, margin: null, theorem: null };
    drawnCounts = [];
    drawPlot();
    if (focus) dots[state.chosen]?.focus();
    refresh();
  }
  const choose = (i) => { dots[state.chosen]?.setAttribute("tabindex", -1); state.chosen = i; dots[i]?.setAttribute("tabindex", 0); dots[i]?.focus({ preventScroll: true }); };

  let drag = null, pressed = null; // a plot that has captured the pointer is told of double clicks in the point's place
  const where = (event) => { const box = part.plot.getBoundingClientRect(); return scale.inverse((event.clientX - box.left) * scale.width / box.width, (event.clientY - box.top) * scale.height / box.height); };
  part.plot.addEventListener("pointerdown", (event) => {
    if (!editable() || event.button > 0) return;
    const point = event.target.closest("[data-point]"), [x, y] = where(event);
    pressed = point ? +point.dataset.point : null;
    if (!point) { drag = { add: [x, y], from: [event.clientX, event.clientY] }; return; }
    const i = +point.dataset.point, spot = place(i);
    choose(i);
    event.preventDefault();
    if (state.tool === "delete") removePoint(i);
    else if (state.tool === "relabel") relabel(i, state.labels[i] === state.label ? undefined : state.label);
    else { drag = { i, dx: spot[0] - x, dy: spot[1] - y }; part.plot.setPointerCapture(event.pointerId); }
  });
  part.plot.addEventListener("pointermove", (event) => {
    if (drag?.i === undefined) return;
    const [x, y] = where(event);
    moveTo(drag.i, x + drag.dx, y + drag.dy);
  });
  part.plot.addEventListener("pointerup", (event) => {
    if (drag?.add && state.tool === "move" && Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) < 6) addPoint(...drag.add);
    drag = null;
  });
  part.plot.addEventListener("pointercancel", () => { drag = null; });
  part.plot.addEventListener("dblclick", () => { if (pressed !== null && editable() && state.tool === "move") relabel(pressed); });
  part.plot.addEventListener("contextmenu", (event) => { const point = event.target.closest("[data-point]"); if (point && editable()) { event.preventDefault(); removePoint(+point.dataset.point); } });
  part.plot.addEventListener("keydown", (event) => {
    const point = event.target.closest("[data-point]");
    if (!point || event.ctrlKey || event.metaKey) return;
    const i = +point.dataset.point, n = state.rows.length, far = (event.shiftKey ? 1 : 8), [x, y] = place(i), digit = +event.key;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "n" || event.key === "]") choose((i + 1) % n);
    else if (event.key === "p" || event.key === "[") choose((i + n - 1) % n);
    else if (!editable()) return;
    else if (move) moveTo(i, x + move[0] * far / scale.sx, y + move[1] * far / scale.sy);
    else if (event.key === "Delete" || event.key === "Backspace") removePoint(i);
    else if (event.key === "l" || event.key === "Enter") relabel(i);
    else if (digit >= 1 && digit <= state.classes.length) relabel(i, state.classes[digit - 1]);
    else if (event.key === "a") addPoint(x + 24 / scale.sx, y + 24 / scale.sy);
    else return;
    event.preventDefault();
  });

  // ----------------------------------------------------------------------------------------------------------- sharing

  function save(content, file, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    html("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  async function saveText(kind, file, type) {
    const asked = { as: kind, points: { rows: state.rows, labels: state.labels, names: state.names }, settings: state.settings };
    const got = line.replay ? { text: line.replay[kind] } : await ask("export", asked);
    if (got) save(got.text, file, type);
  }
  function picture() { // a copy that carries its styles with it
    const copy = part.plot.cloneNode(true), taken = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-family", "font-weight", "font-style", "paint-order"];
    const originals = part.plot.querySelectorAll("*"), copies = copy.querySelectorAll("*");
    originals.forEach((node, i) => { const style = getComputedStyle(node); for (const key of taken) copies[i].setAttribute(key, style.getPropertyValue(key)); });
    set(copy, { xmlns: "http://www.w3.org/2000/svg", width: scale.width, height: scale.height });
    copy.prepend(svg("rect", { width: scale.width, height: scale.height, fill: getComputedStyle(part.plot).backgroundColor }));
    return new XMLSerializer().serializeToString(copy);
  }
  async function savePicture(kind) {
    const text = picture(), blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "svg") { save(blob, "plane.svg"); return; }
    const address = URL.createObjectURL(blob), image = new Image();
    image.src = address;
    await image.decode();
    const canvas = html("canvas", { width: 2 * scale.width, height: 2 * scale.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((png) => save(png, "plane.png"), "image/png");
  }
  async function copyLink() {
    const address = line.address({ rows: state.rows, labels: state.labels, names: state.names }, state.settings);
    try { await navigator.clipboard.writeText(address); complain("The link is copied; it opens wherever linsep explore runs, after its address."); }
    catch { complain("The link is in the address bar."); }
  }

  // ------------------------------------------------------------------------------------------------------------- begin

  function drawAll() {
    if (!state.box) fitBox();
    drawnCounts = [];
    if (state.shown?.keeps) {
      const input = part["set-keep"];
      if (input.options.length !== state.shown.keeps.length) input.replaceChildren(...state.shown.keeps.map((k) => html("option", {}, k)));
      input.value = state.settings.keep ?? "last";
    }
    const focused = part.plot.getRootNode().activeElement?.closest?.("[data-point]");
    if (drag?.i !== undefined || (focused && !moved)) redrawUnder();
    else drawPlot();
    if (focused && !part.plot.contains(focused)) dots[state.chosen]?.focus({ preventScroll: true });
    drawMoment();
    drawStep();
    drawVerdict();
    drawProof();
    drawCharts();
    drawCursors();
    drawTools();
    const said = state.shown?.view.said || (state.box.equal ? "" : "The two axes are not to the same scale: right angles do not look right.");
    put(part.hint, [said, state.said].filter(Boolean).join(" "));
  }
  function redrawUnder() { // while a point is held or has the focus its element must stay
    for (const key of ["widest", "links"]) layer[key].replaceChildren();
    drawWidest();
    drawLinks();
  }
  let resizing = 0;
  function resize() { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(() => { if (state.box && root.isConnected) { drawPlot(); drawnCounts = []; drawMoment(); drawCharts(); drawCursors(); } }); }
  new ResizeObserver(resize).observe(part.plot);
  drawTools();
  if (line.first.preset && part.preset) part.preset.value = line.first.preset;
  adopt(line.first.points, line.first.settings, line.first.said);
  return { adopt, state };
}

// ------------------------------------------------------------------------------------------------ three ways to Python

// A notebook: anywidget's line.
function render({ model, el }) {
  const open = new Map();
  let count = 0;
  const hear = (message) => { open.get(message.number)?.(message.answer); open.delete(message.number); };
  model.on("msg:custom", hear);
  mount(el, {
    presets: model.get("presets"),
    first: { points: model.get("points"), settings: model.get("settings") },
    ask: (kind, asked) => new Promise((resolve) => { open.set(++count, resolve); model.send({ number: count, kind, asked }); }),
    keep: (points, settings) => { model.set("points", points); model.set("settings", settings); model.save_changes(); },
  });
  return () => model.off("msg:custom", hear);
}
export default { render };

// A server on this machine: every address is relative to the page's own, which has the token in it.
async function live(host) {
  const pack = (points, settings) => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify({ points, settings })))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const unpack = () => {
    const text = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    if (!text) return null;
    try { const found = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))); return Array.isArray(found.points.rows) && Array.isArray(found.points.labels) ? found : null; } catch { return null; }
  };
  const { presets, first } = await (await fetch("start")).json();
  const ask = async (kind, asked) => (await fetch(kind, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) })).json();
  const begun = unpack() ?? first ?? { ...(await ask("preset", { name: presets[0].name })), preset: presets[0].name };
  const address = (points, settings) => {
    const small = points.rows.length <= 400;
    return `${location.origin}${location.pathname}${small ? `#${pack(points, settings)}` : ""}`;
  };
  const page = mount(host, { presets, first: begun, ask, address, keep: (points, settings) => history.replaceState(null, "", address(points, settings)) });
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
