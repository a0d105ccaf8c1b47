// What the page is made of; everything it does is a function of the page, found when it is needed.

import { colored, html, svg } from "./elements.js";

export const FIELDS = [ // name, label, kind, what it means
  ["order", "Order", ["cyclic", "shuffled", "first", "worst"], "In which order points are visited"],
  ["eta0", "Learning rate η", "number", "From zero weights it changes only the scale of w"],
  ["fit_intercept", "Offset b", "check", "Without an offset the plane goes through the origin"],
  ["start", "Start weights", "list", "A weight for each column, then the offset; empty is zero (two classes)"],
  ["multi_class", "Multiclass", ["argmax", "ovr"], "More than two classes: all compared (argmax), or each against the rest (ovr)"],
  ["mistake", "A mistake is a", ["violation", "prediction"], "Update when y·s(x) ≤ 0 (violation), or when the predicted label is wrong (prediction): they differ on the plane"],
  ["on_plane", "On the plane predict", ["-1", "1"], "Which side is predicted for a point on the plane (two classes)"],
  ["max_iter", "Passes at most", "whole", "max_iter"],
  ["max_updates", "Updates at most", "whole", "max_updates"],
  ["tol", "Loss plateau, tol", "maybe", "Stop when the loss of a pass no longer falls by more than this; empty is off"],
  ["target_margin", "Margin to refute", "maybe", "Stop once the mistakes prove that no plane has this margin; empty is off"],
  ["update_margin", "Update margin", "number", "Update also when y·s(x) is positive but at most this"],
  ["early_stopping", "Early stopping", "check", "Hold out a tenth of the rows; stop when they get no better"],
  ["keep", "Keep", ["last"], "Which weights the run returns"],
  ["random_state", "Seed", "whole", "Random seed of the shuffled order and the held-out rows"],
];
export const CHARTS = [ // name, title, formula, one sentence
  ["squeeze", "The squeeze", "{u:kηγ} ≤ {thin:w·u} ≤ {w:‖w‖} ≤ {upper:√k ηR}",
    "A line rises from below and a square root limits from above. They meet at the bound, and no run gets past it."],
  ["growth", "Growth", "{w:‖w‖²} ≤ {upper:kη²R²}", "Each mistake adds only a bounded amount to the squared length of w."],
  ["cosine", "Angle", "{w:cos∠(w,u)} ≥ {u:√k γ/R}", "A mistake may turn w away from u, the plane of largest margin; the bound on the angle still rises."],
  ["running", "Bound on γ", "{u:γ} ≤ {w:‖w‖/(ηk)}",
    "The run itself bounds the largest margin from above; if no plane exists, the bound sinks to zero."],
  ["loss", "Loss", "{w:Σ max(0, −y s(x))}", "How far the points were on the wrong side when visited, summed over a pass."],
  ["errors", "Per pass", "{w:mistakes}, {upper:errors}", "Mistakes made during a pass, and points wrong at its end."],
];
export const TOOLS = [["move", "Add / move"], ["relabel", "Relabel"], ["delete", "Delete"]];
const HELP = [
  ["click", "add a point with the label chosen above the plot"],
  ["drag", "move a point, also with a finger"],
  ["double click", "give a point the next label"],
  ["right click", "delete a point"],
  ["Tab, N, P", "go to the points, to the next, to the one before"],
  ["arrows", "move it; with Shift in small steps"],
  ["1, 2, … or L", "give it that label, or the next"],
  ["A, Delete", "add a point beside it (or the first one), delete it"],
  ["Ctrl-Z, Ctrl-Shift-Z", "undo, redo"],
  ["Space", "run or pause"],
  ["over a chart", "the plane moves to that mistake; arrows too"],
];
const SPEEDS = [1, 2, 5, 15, 60];

const FACTS = [ // name, label, what it is and how it is computed
  ["mistakes", "mistakes k", "Updates made so far, and in all: k = Σ α, with α the mistakes on each point."],
  ["allowed", "bound on k", "No run makes more mistakes than this: R²/γ², rounded down; with an offset (R² + 1)/γ², with more than two classes twice as much."],
  ["radius", "R", "The length of the longest point: R = max ‖x‖."],
  ["gamma", "γ", "The largest margin in the theorem: γ = max over w of min y w·x/‖w‖. With an offset it is the augmented margin, that of the points (x, 1)."],
  ["widest", "largest margin", "The largest margin as people draw it (affine): max over w and b of min y (w·x + b)/‖w‖, proved from both sides."],
  ["margin", "margin found", "Margin of the plane at the end of the run (affine): min y (w·x + b)/‖w‖, negative if a point is wrong."],
  ["errors", "wrong at the end", "Training points that the plane at the end predicts wrong."],
  ["stop", "stopped", "Why the run ended."],
];
const NUMBERING = "p1 is the first point. Python, JSON and proof files number rows from 0: there p1 is row 0.";

export function build(page) {
  const { state, part, line, host } = page, live = !line.replay;
  const named = (key, node) => (part[key] = node); // an element that is spoken to later
  const control = (kind, key, attributes, ...children) => named(key, html(kind, { "data-do": key, ...attributes }, ...children));
  const button = (key, text, label, click) => control("button", key, { type: "button", "aria-label": label, title: label, onclick: click }, text);
  const menu = (key, title, kind, ...children) =>
    html("details", { class: "menu" }, html("summary", { "data-do": key }, title), html("div", { class: kind }, ...children));
  const options = (pairs) => pairs.map(([value, text]) => html("option", { value }, text));

  // the bar: where points come from, where everything goes
  function bar() {
    const presets = [["", "Own points"], ...(line.presets ?? []).map((preset) => [preset.name, preset.title])];
    const preset = control("select", "preset", { "aria-label": "Example", onchange: () => page.loadPreset() }, ...options(presets));
    const margin = control("input", "margin", {
      type: "range", min: 0.01, max: 0.5, step: 0.01, value: 0.15, "aria-label": "Margin of the teacher's data", oninput: () => page.askPreset(),
    });
    const again = button("again", "Again", "Draw new points from the teacher", () => { state.seed += 1; page.askPreset(); });
    const teacher = html("span", { class: "teacher", hidden: true }, html("label", {}, "Margin ", margin), named("marginValue", html("output", {}, "0.15")), again);
    const example = "x1,x2,label\n0.5,1,1\n-1,0.25,-1";
    const data = menu("data", "Data", null,
      html("label", {}, "Paste points, one per line: coordinates, then the label", control("textarea", "paste", { rows: 6, spellcheck: "false", placeholder: example })),
      button("usePaste", "Use these points", "Use the pasted points", () => page.readText(part.paste.value)),
      html("label", { class: "file" }, "or open a CSV file ", control("input", "file", { type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: () => page.readFile() })),
      button("clear", "Remove all points", "Remove all points", () => page.clear()));
    const share = menu("share", "Share", "list",
      button("png", "Picture (PNG)", "Save the plane as PNG", () => page.savePicture("png")),
      button("svg", "Picture (SVG)", "Save the plane as SVG", () => page.savePicture("svg")),
      button("csv", "Points (CSV)", "Save the points as CSV", () => page.saveText("csv", "points.csv", "text/csv")),
      button("python", "Python script", "Save a script that makes this run", () => page.saveText("python", "run.py", "text/x-python")),
      live ? button("html", "Replay (HTML)", "Save one file that replays the run anywhere", () => page.saveText("html", "run.html", "text/html")) : null,
      live && line.address ? button("link", "Copy link", "Copy the address of these points", () => page.copyLink()) : null);
    const help = menu("help", "Help", "wide",
      html("dl", { class: "keys" }, ...HELP.flatMap(([keys, what]) => [html("dt", {}, keys), html("dd", {}, what)])),
      html("p", { class: "small" }, NUMBERING),
      html("h2", {}, "What the numbers are"),
      html("dl", { class: "keys" }, ...FACTS.flatMap(([, label, what]) => [html("dt", {}, label), html("dd", {}, what)])));
    const large = button("large", "A+", "Larger type", () => {
      part.large.setAttribute("aria-pressed", page.root.classList.toggle("large"));
      page.resize();
    });
    const theme = button("theme", "◐", "Light or dark", () => { page.root.dataset.theme = page.dark() ? "light" : "dark"; });
    const sources = live ? [html("label", { class: "example" }, html("span", {}, "Example "), preset), named("teacher", teacher)] : [];
    return html("header", { class: "bar" },
      html("h1", {}, "linsep ", html("span", {}, live ? "explore" : "replay")), ...sources, html("span", { class: "fill" }),
      live ? data : null, share, help, large, theme);
  }

  // the plane, with the tools above and the run below
  function board() {
    const choose = (key) => () => { state.tool = key; page.drawTools(); };
    const tools = html("div", { class: "tools", role: "toolbar", "aria-label": "What a click does", hidden: !live },
      html("span", { class: "group" }, ...TOOLS.map(([key, text]) => button(`tool-${key}`, text, text, choose(key)))),
      named("chips", html("span", { class: "group chips", role: "group", "aria-label": "Label of new points" })));
    const undo = button("undo", "↶", "Undo (Ctrl-Z)", () => page.undo()), redo = button("redo", "↷", "Redo (Ctrl-Shift-Z)", () => page.redo());
    const picture = (key) => named(key, svg("svg", { class: `layer ${key}`, "aria-hidden": "true" }));
    const plot = named("plot", svg("svg", { class: "plot", role: "group", "aria-label": "Points and planes", "data-part": "plot" }));
    const fit = button("fit", "Fit", "Fit the view to the points", () => page.fit());
    const to = (where) => () => { page.pause(); page.go(where()); };
    const pace = () => { state.speed = +part.speed.value; if (state.playing) { page.pause(); page.toggle(); } };
    const transport = html("div", { class: "transport", role: "toolbar", "aria-label": "The run" },
      button("start", "«", "To the start", to(() => 0)), button("back", "‹", "One mistake back", () => page.step(-1)),
      button("run", "▶ Run", "Run or pause", () => page.toggle()),
      button("step", "›", "One mistake on", () => page.step(1)), button("end", "»", "To the end", to(() => Infinity)),
      control("select", "speed", { "aria-label": "Mistakes a second", onchange: pace }, ...options(SPEEDS.map((speed) => [speed, `${speed}/s`]))),
      control("input", "slider", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Mistake", oninput: to(() => +part.slider.value) }),
      named("moment", html("output", { class: "moment", "aria-live": "off", "data-part": "moment" }, "–")));
    part.speed.value = state.speed;
    const lines = [0, 1, 2, 3].map((i) => named(`step${i}`, html("p", {}, "\u00a0")));
    const step = named("update", html("section", { class: "card step", "aria-label": "This update", "aria-live": "polite", "data-part": "step" }, ...lines));
    return html("section", { class: "board", "aria-label": "The plane" }, tools,
      html("div", { class: "frame" }, html("div", { class: "pictures" }, picture("back"), plot, picture("front"),
        html("div", { class: "corner" }, live ? undo : null, live ? redo : null, fit)), named("hint", html("p", { class: "hint" }))),
      named("legend", html("div", { class: "legend", "aria-hidden": "true" })), transport, step);
  }

  function settings() {
    return html("details", { class: "card settings", open: (host.clientWidth || innerWidth) > 700 },
      html("summary", {}, "Settings of the run"), html("fieldset", { disabled: !live }, html("legend", { class: "unseen" }, "Settings"), ...fields()));
  }
  function fields() {
    const field = (key, label, title, input) => html("label", { title }, html("span", {}, label), named(`set-${key}`, input));
    const inputs = FIELDS.map(([key, label, kind, title]) => {
      const common = { "data-set": key, "aria-label": label, onchange: () => page.readFields() };
      if (Array.isArray(kind)) return field(key, label, title, html("select", common, ...options(kind.map((choice) => [choice, choice]))));
      if (kind === "check") return field(key, label, title, html("input", { type: "checkbox", ...common }));
      const placeholder = { maybe: "off", list: "0" }[kind];
      return field(key, label, title, html("input", { type: kind === "list" ? "text" : "number", step: "any", placeholder, ...common }));
    });
    const columns = html("select", { "data-set": "columns", "aria-label": "Columns", onchange: () => page.readFields() });
    return [...inputs, named("columns", field("columns", "Columns", "The columns to learn from and to show", columns))];
  }

  // what is known: the verdict, the proof, the charts
  function side() {
    const fact = ([key, label, title]) => html("div", { title }, html("dt", {}, label), named(`fact-${key}`, html("dd", { "data-fact": key }, "–")));
    const verdict = html("section", { class: "card verdict", "aria-label": "Verdict" },
      named("kind", html("p", { class: "kind", role: "status", "data-part": "kind" }, "…")),
      named("kindSaid", html("p", { class: "small" }, "\u00a0")),
      named("fewest", html("p", { class: "small", "data-part": "fewest" })),
      live ? button("remove", "Remove these", "Remove the points that the plane with the fewest errors gets wrong", () => page.removeRows()) : null,
      live ? button("flip", "Flip these", "Give these points the label of the side that they are on", () => page.flipRows()) : null,
      live ? button("offset", "Allow an offset", "Allow planes that do not go through the origin", () => page.allowOffset()) : null,
      html("dl", {}, ...FACTS.map(fact)));
    for (const key of ["remove", "flip", "offset"]) if (part[key]) part[key].hidden = true; // until there is a verdict
    const proof = named("proof", html("section", { class: "card proof", "aria-label": "The proof", "data-part": "proof" }));
    const check = named("check", html("section", { class: "card check", "aria-label": "Check of the proof", "data-part": "check", hidden: true }));
    const chart = ([key, title, formula, said]) => html("figure", { class: "card", "data-chart": key },
      html("figcaption", {}, html("b", {}, title), " ", named(`formula-${key}`, html("i", {}, ...colored(formula))), named(`value-${key}`, html("output", { "aria-live": "off" }, "\u00a0"))),
      html("div", { class: "chart" }, named(`chart-${key}`, svg("svg", { tabindex: 0, role: "slider", "aria-label": title, "aria-valuemin": 0, "aria-valuenow": 0 })),
        named(`cursor-${key}`, html("i", { class: "cursor", hidden: true }))),
      html("p", { class: "small" }, said));
    return html("div", { class: "side" }, verdict, proof, check, html("section", { class: "charts", "aria-label": "Charts" }, ...CHARTS.map(chart)), settings());
  }

  const status = named("status", html("p", { class: "status", role: "alert", "data-part": "status" }));
  // the root takes the focus of a click, and a notebook leaves the keys to it
  return html("div", { class: "linsep", tabindex: -1, "data-lm-suppress-shortcuts": "true", "data-state": "busy", "data-mode": live ? "live" : "replay" },
    bar(), status, html("div", { class: "stage" }, board(), side()));
}
