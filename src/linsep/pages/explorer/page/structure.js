// What the page is made of; everything it does is a function of the page, found when it is needed.

import { SETTINGS } from "../engine/settings.js";
import { colored, html, svg } from "./elements.js";
import { PRESETS } from "./presets.js";

export const CHARTS = [ // name, title, formula, one sentence
  ["squeeze", "The squeeze", "{u:kηγ} ≤ {thin:w·u} ≤ {w:‖w‖} ≤ {upper:√k ηR}",
    "A line rises from below and a square root limits from above. They meet at the bound, and no run gets past it."],
  ["growth", "Growth", "{w:‖w‖²} ≤ {upper:kη²R²}", "Each mistake adds only a bounded amount to the squared length of w."],
  ["cosine", "Angle", "{w:cos∠(w,u)} ≥ {u:√k γ/R}", "A mistake may turn w away from u, the plane of largest margin; the bound on the angle still rises."],
  ["running", "Bound on γ", "{u:γ} ≤ {w:‖w‖/(ηk)}",
    "The run itself bounds the largest margin from above; if no plane exists, the bound sinks to zero."],
  ["loss", "Loss", "{w:Σ max(0, −y s(x))}", "How far the points were on the wrong side when visited, summed over a pass."],
  ["errors", "Per pass", "{w:mistakes}, {upper:errors}", "Mistakes made during a pass, and points wrong at its end; with held-out points, the share of wrong ones among both kinds."],
];
export const TOOLS = [["move", "Add / move"], ["relabel", "Relabel"], ["delete", "Delete"], ["plane", "Your plane"]];
const HELP = [
  ["click", "add a point with the label chosen above the plot"],
  ["drag", "move a point, also with a finger"],
  ["double click", "give a point the next label"],
  ["right click", "delete a point"],
  ["rest on a point", "see its α (how many of the mistakes were on it), its score and its distance"],
  ["Your plane", "drag the blue line to move it, its arrow to turn it, and read errors, margin and offset"],
  ["Tab, N, P", "go to the points, to the next, to the one before"],
  ["arrows", "move it; with Shift in small steps"],
  ["1, 2, … or L", "give it that label, or the next"],
  ["A, Delete", "add a point beside it (or the first one), delete it"],
  ["Ctrl-Z, Ctrl-Shift-Z", "undo, redo"],
  ["Space", "run or pause"],
  ["over a chart", "the plane moves to that mistake; arrows too"],
];
export const MARKS = [ // class of the sign in the legend, name, what it is
  ["w", "this w", "the plane of the present weights; its arrow points to the positive side"],
  ["u", "largest margin", "the plane u of largest margin"],
  ["band", "its band", "the points may come as near to u as this band is wide"],
  ["ring support", "support", "points on the edge of the band: they alone decide u"],
  ["ring now", "this visit", "the point that is visited, or the last mistake; dashed if it was right"],
  ["size", "α, by size", "the larger a point, the more mistakes were made on it"],
  ["kept", "kept", "what the run returns, if that is not the last plane"],
  ["fewest", "fewest errors", "a plane that gets the fewest points wrong"],
  ["cross", "in the way", "the points that this plane gets wrong"],
  ["ring refuting", "contradiction", "points that no plane can have right together; their hulls meet"],
  ["weak", "weakly", "a plane with no point on the wrong side, but some on it"],
  ["hollow", "held out", "points that are not learned from"],
  ["flipped", "noise", "points whose label the noise has changed"],
  ["hand", "your plane", "the plane that you drag"],
  ["delta", "η y x", "what a mistake adds to w, in its true length (Vectors)"],
];
const SPEEDS = [1, 2, 5, 15, 60];

const FACTS = [ // name, label, what it is and how it is computed
  ["mistakes", "mistakes k", "Updates made so far, and in all: k = Σ α, with α the mistakes on each point."],
  ["allowed", "bound on k", "No run makes more mistakes than this: R²/γ², rounded down; with an offset (R² + 1)/γ², with more than two classes twice as much."],
  ["radius", "R", "The length of the longest point: R = max ‖x‖."],
  ["gamma", "γ", "The largest margin in the theorem: γ = max over w of min y w·x/‖w‖. With an offset it is the augmented margin, that of the points (x, 1)."],
  ["widest", "largest margin", "The largest margin as people draw it (affine): max over w and b of min y (w·x + b)/‖w‖."],
  ["margin", "margin found", "Margin of the plane at the end of the run (affine): min y (w·x + b)/‖w‖, negative if a point is wrong."],
  ["errors", "wrong at the end", "Training points that the plane at the end predicts wrong."],
  ["test", "test error", "Share of the held-out points that the run's result predicts wrong."],
  ["stop", "stopped", "Why the run ended."],
];
const NUMBERING = "p1 is the first point. Python, JSON and proof files number rows from 0: there p1 is row 0.";

export function build(page) {
  const { state, part, host } = page;
  const named = (key, node) => (part[key] = node); // an element that is spoken to later
  const control = (kind, key, attributes, ...children) => named(key, html(kind, { "data-do": key, ...attributes }, ...children));
  const button = (key, text, label, click) => control("button", key, { type: "button", "aria-label": label, title: label, onclick: click }, text);
  const menu = (key, title, kind, ...children) =>
    html("details", { class: "menu" }, html("summary", { "data-do": key }, title), html("div", { class: kind }, ...children));
  const options = (pairs) => pairs.map(([value, text]) => html("option", { value }, text));

  // the bar: where points come from, where everything goes
  function bar() {
    const presets = [...Object.entries(PRESETS).map(([key, { title }]) => [key, title]), ["", "Own points"]];
    const preset = control("select", "preset", { "aria-label": "Example", onchange: () => page.loadPreset() }, ...options(presets));
    const margin = control("input", "margin", {
      type: "range", min: 0.01, max: 0.5, step: 0.01, value: 0.15, "aria-label": "Margin of the teacher's data", oninput: () => page.drawPreset(),
    });
    const again = button("again", "Again", "Draw new points from the teacher", () => { state.seed += 1; page.drawPreset(); });
    const teacher = html("span", { class: "teacher", hidden: true }, html("label", {}, "Margin ", margin), named("marginValue", html("output", {}, "0.15")), again);
    const example = "x1,x2,label\n0.5,1,1\n-1,0.25,-1";
    const data = menu("data", "Data", null,
      html("label", {}, "Paste points, one per line: coordinates, then the label", control("textarea", "paste", { rows: 6, spellcheck: "false", placeholder: example })),
      button("usePaste", "Use these points", "Use the pasted points", () => page.readPoints(part.paste.value)),
      html("label", { class: "file" }, "or open a CSV file ", control("input", "file", { type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: () => page.readFile() })),
      button("clear", "Remove all points", "Remove all points", () => page.clear()));
    const share = menu("share", "Share", "list",
      button("link", "Copy link", "Copy the address of these points, settings and step", () => page.copyLink()),
      button("html", "This page (HTML)", "Save this page with these points as one file", () => page.savePage()),
      button("png", "Picture (PNG)", "Save the plane as PNG", () => page.savePicture("png")),
      button("svg", "Picture (SVG)", "Save the plane as SVG", () => page.savePicture("svg")),
      button("csv", "Points (CSV)", "Save the points as CSV", () => page.savePoints()),
      button("python", "Python script", "Save a script that makes this run with linsep", () => page.saveScript()),
      button("proof", "Proof (JSON)", "Save the proof of the verdict, for linsep verify", () => page.saveProof()));
    const listed = (pairs) => html("dl", { class: "keys" }, ...pairs.flatMap(([what, text]) => [html("dt", {}, what), html("dd", {}, text)]));
    const help = menu("help", "Help", "wide",
      listed(HELP), html("p", { class: "small" }, NUMBERING),
      html("h2", {}, "What is drawn"), listed(MARKS.map(([kind, label, text]) => [html("span", { class: "legend" }, html("span", { class: kind }, html("i"), label)), text])),
      html("h2", {}, "What the numbers are"), listed(FACTS.map(([, label, text]) => [label, text])),
      html("h2", {}, "What the settings do"), listed(Object.values(SETTINGS).map(({ label, help: text }) => [label, text])));
    const large = button("large", "A+", "Larger type", () => {
      part.large.setAttribute("aria-pressed", page.root.classList.toggle("large"));
      page.resize();
    });
    const theme = button("theme", "◐", "Light or dark", () => { page.root.dataset.theme = page.dark() ? "light" : "dark"; });
    return html("header", { class: "bar" },
      html("h1", {}, "linsep ", html("span", {}, "explore")),
      html("label", { class: "example" }, html("span", {}, "Example "), preset), named("teacher", teacher), html("span", { class: "fill" }), data, share, help, large, theme);
  }

  // the plane, with the tools above and the run below
  function board() {
    const choose = (key) => () => { state.tool = key; page.toolChosen(); };
    const tools = html("div", { class: "tools", role: "toolbar", "aria-label": "What a click does" },
      html("span", { class: "group" }, ...TOOLS.map(([key, text]) => button(`tool-${key}`, text, text, choose(key)))),
      named("chips", html("span", { class: "group chips", role: "group", "aria-label": "Label of new points" })));
    const undo = button("undo", "↶", "Undo (Ctrl-Z)", () => page.undo()), redo = button("redo", "↷", "Redo (Ctrl-Shift-Z)", () => page.redo());
    const picture = (key) => named(key, svg("svg", { class: `layer ${key}`, "aria-hidden": "true" }));
    const plot = named("plot", svg("svg", { class: "plot", role: "group", "aria-label": "Points and planes", "data-part": "plot" }));
    const fit = button("fit", "Fit", "Fit the view to the points", () => page.fit());
    const vectors = button("vectors", "Vectors", "Draw w, η y x and their sum as vectors from the origin", () => { state.vectors = !state.vectors; page.fit(); });
    const to = (where) => () => { page.pause(); page.go(where()); };
    const pace = () => { state.speed = +part.speed.value; if (state.playing) { page.pause(); page.toggle(); } };
    const transport = html("div", { class: "transport", role: "toolbar", "aria-label": "The run" },
      button("start", "«", "To the start", to(() => 0)), button("back", "‹", "One step back", () => page.step(-1)),
      button("run", "▶ Run", "Run or pause", () => page.toggle()),
      button("step", "›", "One step on", () => page.step(1)), button("end", "»", "To the end", to(() => Infinity)),
      control("select", "by", { "aria-label": "A step is a", title: "A step is a mistake, or a visit to a point", onchange: () => page.stepBy(part.by.value) }, ...options([["mistake", "by mistake"], ["visit", "by visit"]])),
      control("select", "speed", { "aria-label": "Steps a second", onchange: pace }, ...options(SPEEDS.map((speed) => [speed, `${speed}/s`]))),
      control("input", "slider", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Step", oninput: to(() => +part.slider.value) }),
      named("moment", html("output", { class: "moment", "aria-live": "off", "data-part": "moment" }, "–")));
    part.speed.value = state.speed;
    const lines = [0, 1, 2, 3].map((i) => named(`step${i}`, html("p", {}, "\u00a0")));
    const step = named("update", html("section", { class: "card stepping", "aria-label": "This step", "aria-live": "polite", "data-part": "step" }, ...lines));
    return html("section", { class: "board", "aria-label": "The plane" }, tools,
      html("div", { class: "pictures" }, picture("back"), plot, picture("front"),
        named("tip", html("div", { class: "tip", role: "status", hidden: true, "data-part": "tip" })),
        html("div", { class: "corner" }, undo, redo, vectors, fit)),
      named("legend", html("div", { class: "legend", "aria-hidden": "true" })),
      named("hand", html("p", { class: "hand", hidden: true, "aria-live": "polite", "data-part": "hand" })), named("hint", html("p", { class: "hint" })),
      transport, step);
  }

  // settings: a field for each that is declared
  function settings() {
    const field = (key) => {
      const { kind, label, help: title, options: choices, least, most, step, slider, maybe } = SETTINGS[key];
      const common = { "data-set": key, "aria-label": label, onchange: () => page.readFields() };
      let input;
      if (kind === "choice") input = html("select", common, ...options(choices.map((choice) => [choice, choice])));
      else if (kind === "check") input = html("input", { type: "checkbox", ...common });
      else if (slider) input = html("input", { type: "range", min: least, max: most, step, ...common, oninput: () => page.readFields(key) });
      else input = html("input", { type: kind === "list" ? "text" : "number", step: "any", placeholder: maybe ? "off" : kind === "list" ? "0" : null, ...common });
      const value = slider ? named(`value-${key}`, html("output", {}, "0")) : null;
      return named(`field-${key}`, html("label", { title, class: kind === "check" ? "check-field" : null }, html("span", {}, label, value ? " " : null, value), named(`set-${key}`, input)));
    };
    const columns = named("columns", html("label", { title: "The columns to learn from and to show" }, html("span", {}, "Columns"), named("set-columns", html("select", { "data-set": "columns", "aria-label": "Columns", onchange: () => page.readFields() }))));
    const keys = Object.keys(SETTINGS), wide = (host.clientWidth || innerWidth) > 700;
    return named("settings", html("details", { class: "card settings", open: wide }, html("summary", {}, "Settings"),
      html("fieldset", {}, html("legend", { class: "unseen" }, "Settings"), columns, ...keys.filter((key) => !SETTINGS[key].more).map(field)),
      html("details", { class: "more" }, html("summary", { "data-do": "more" }, "More"), html("fieldset", {}, html("legend", { class: "unseen" }, "More settings"), ...keys.filter((key) => SETTINGS[key].more).map(field)))));
  }

  // what is known: the verdict, the weights, the proof, the charts
  function side() {
    const fact = ([key, label, title]) => named(`box-${key}`, html("div", { title }, html("dt", {}, label), named(`fact-${key}`, html("dd", { "data-fact": key }, "–"))));
    const verdict = html("section", { class: "card verdict", "aria-label": "Verdict" },
      named("kind", html("p", { class: "kind", role: "status", "data-part": "kind" }, "…")),
      named("kindSaid", html("p", { class: "small" }, "\u00a0")),
      named("fewest", html("p", { class: "small", "data-part": "fewest" })),
      button("remove", "Remove these", "Remove the points that the plane with the fewest errors gets wrong", () => page.removeRows()),
      button("flip", "Flip these", "Give these points the label of the side that they are on", () => page.flipRows()),
      button("offset", "Allow an offset", "Allow planes that do not go through the origin", () => page.allowOffset()),
      button("map", "Add x², xy", "Learn from squares and products, too", () => page.useFeatures("quadratic")),
      html("dl", {}, ...FACTS.map(fact)));
    for (const key of ["remove", "flip", "offset", "map"]) part[key].hidden = true; // until there is a verdict
    const weights = named("weightsBox", html("section", { class: "card weights", "aria-label": "Weight space", "data-part": "weights" },
      html("h2", {}, "Weight space ", named("slice", html("span", { class: "small" }))),
      named("weights", svg("svg", { role: "img", "aria-label": "The weights and the cone of right ones" })),
      html("p", { class: "small" }, html("span", { class: "ink-u" }, "green"), ": weights that are right about every point (the version space); each point is a line that halves the space; the path is that of w; ",
        html("span", { class: "ink-step" }, "the last step"), " is η y x in its true length.")));
    const proof = named("proof", html("section", { class: "card proof", "aria-label": "The proof", "data-part": "proof" }));
    const check = named("check", html("section", { class: "card check", "aria-label": "Check of the proof", "data-part": "check", hidden: true }));
    const chart = ([key, title, formula, text]) => html("figure", { class: "card", "data-chart": key },
      html("figcaption", {}, html("b", {}, title), " ", named(`formula-${key}`, html("i", {}, ...colored(formula))), named(`chartValue-${key}`, html("output", { "aria-live": "off" }, "\u00a0"))),
      html("div", { class: "chart" }, named(`chart-${key}`, svg("svg", { tabindex: 0, role: "slider", "aria-label": title, "aria-valuemin": 0, "aria-valuenow": 0 })),
        named(`cursor-${key}`, html("i", { class: "cursor", hidden: true }))),
      html("p", { class: "small" }, text));
    return html("div", { class: "side" }, verdict, weights, proof, check, html("section", { class: "charts", "aria-label": "Charts" }, ...CHARTS.map(chart)));
  }

  return html("div", { class: "linsep", "data-state": "busy" }, bar(), named("status", html("p", { class: "status", role: "alert", "data-part": "status" })),
    html("div", { class: "stage" }, settings(), board(), side()));
}
