// What is said of the run: this step, the verdict, and the proof with its numbers.

import { bound } from "../engine/theory.js";
import { proofDocument, provedTable } from "../engine/proof.js";
import { mountChecker } from "../../checker/panel.js";
import { colored, html, name, number, put, quiet, signed, svg, tag, vector } from "./elements.js";

const STOPPED = {
  separated: "a full pass without a mistake", no_mistakes: "a full pass without a mistake, but some points lie on the plane", max_iter: "the pass budget is spent",
  max_updates: "the budget of mistakes is spent", visited: "every visit of the list is made", loss_plateau: "the loss no longer improves", validation: "the error on held-out points no longer improves",
  margin_refuted: "the number of mistakes proves that no plane has the target margin",
};
function title(kind, offset) {
  return { separable: "Separable", quasi: "Only weakly separable", overlap: "Not separable", unknown: "Undecided" }[kind] + (kind === "unknown" || offset ? "" : " through the origin");
}
function meaning(kind, offset, many) {
  if (kind === "unknown") return "the exact search ran out of time";
  if (many) {
    const vectors = `weight vectors${offset ? "" : " without offsets"}`;
    return {
      separable: `some ${vectors} score the true class of every point strictly highest`,
      quasi: `no ${vectors} score the true class of every point strictly highest, but some never score another class higher`,
      overlap: `whatever the ${vectors}, another class scores higher on some point, or all scores are equal`,
    }[kind];
  }
  const planes = `plane${offset ? "" : " through the origin"}`;
  return {
    separable: `a ${planes} has every point strictly on its side`, quasi: `no ${planes} has every point strictly on its side, but one has none on the wrong side`,
    overlap: `every ${planes} has points on the wrong side, or all points on it`,
  }[kind];
}
// R is the length of the longest point. An update adds η times a vector of squared length Q: Q = R²; with an offset that of (x, 1);
// with more than two classes twice as much, since two weight vectors move.
const squaredUpdate = (offset, many, factor = "") => `${many ? "2" : ""}${factor}${offset ? "(R² + 1)" : "R²"}`;
const updateLength = (offset, many) => (many ? (offset ? "√(2R² + 2)" : "√2 R") : offset ? "√(R² + 1)" : "R");

export function words(page) {
  const { state, part, root } = page;

  // --------------------------------------------------------------------------------------------------------- this step

  function drawStep() {
    const { run } = state.shown ?? {}, lines = run ? stepLines(run) : [];
    for (let i = 0; i < 4; i++) put(part[`step${i}`], lines[i] ?? "\u00a0");
  }
  const shownWeights = (w, c, run) => { const from = c * (run.width + 1), all = Array.from(w.slice(from, from + run.width)); return vector(all.slice(0, 6), run.width); };
  const shownOffset = (w, c, run) => number(w[c * (run.width + 1) + run.width]);

  function stepLines(run) {
    const { classes, codes, space, settings } = state.shown, { k } = state, many = run.machines > 1;
    const after = run.weightsAt(k), weights = (w, c = 0) => shownWeights(w, c, run), offset = (w, c = 0) => shownOffset(w, c, run);
    const andOffset = (w, c = 0) => (run.offset ? `, b = ${offset(w, c)}` : "");
    const visited = state.by === "visit" && state.at > 0 && run.at[k - 1] !== state.at;
    const row = visited ? run.visits[state.at - 1] : run.trace[k - 1];
    if (row === undefined) return ["Before the first mistake", many ? `all ${run.machines} weight vectors are zero` : space.kernel ? "α = 0 for every point" : `w = ${weights(after)}${andOffset(after)}`];
    const pass = run.passes.findIndex(({ to }) => to >= state.at) + 1 || run.passes.length, label = classes[codes[row]];
    const x = vector(Array.from(space.rows[row]).slice(0, 6), space.rows[row].length), step = `${number(run.eta)}·${x}`;
    if (visited) {
      const score = many ? "" : space.dot(row, after, 0) + after[run.width], y = codes[row] ? 1 : -1;
      return [`Visit ${state.at}, in pass ${pass}: ${name(row)}, x = ${x}, label ${tag(label)}`, many ? "its class scores highest: right, nothing changes" : `y s(x) = ${number(y * score)}: right, nothing changes`,
        many || space.kernel ? "" : `w = ${weights(after)}${andOffset(after)}`, `${k} mistakes so far`];
    }
    const before = run.weightsAt(k - 1), lead = run.leads[k - 1], c = run.concerned[k - 1], limit = settings.mistake === "violation" ? number(settings.update_margin) : "0";
    const first = `${state.by === "visit" ? `Visit ${state.at}, mistake` : "Mistake"} ${k}, in pass ${pass}: ${name(row)}, x = ${x}, label ${tag(label)}`;
    if (space.kernel) {
      return [first, many ? `lead of ${tag(label)} = ${number(lead)} ≤ 0` : `y Σ α y k(x, ·) = ${number(lead)} ≤ 0`, `α(${name(row)}) ← ${page.mistakesOn(row) - 1} + 1 = ${page.mistakesOn(row)}`, "the score adds y k(x, ·): no weights are needed"];
    }
    if (run.apart) {
      const y = c === codes[row] ? 1 : -1;
      return [
        first, `machine of ${tag(classes[c])}: y (Θ·x${run.offset ? " + b" : ""}) = ${number(lead)} ≤ ${limit}, and x is ${y > 0 ? "of its class" : "of the rest"}`,
        `Θ(${tag(classes[c])}) ← ${weights(before, c)} ${y > 0 ? "+" : "−"} ${step} = ${weights(after, c)}${andOffset(after, c)}`, "the machines of the other classes stay",
      ];
    }
    if (many) {
      const own = codes[row], update = (machine, sign) => `Θ(${tag(classes[machine])}) ← ${weights(before, machine)} ${sign} ${step} = ${weights(after, machine)}${andOffset(after, machine)}`;
      return [first, `lead of ${tag(label)} over ${tag(classes[c])} = ${number(lead)} ≤ ${limit}: ${lead > 0 ? "too little" : "not strictly highest"}`, update(own, "+"), update(c, "−")];
    }
    const y = codes[row] ? 1 : -1;
    const onPlane = settings.mistake === "prediction" ? `on the plane, where ${tag(classes[settings.on_plane > 0 ? 1 : 0])} is predicted` : "on the plane, which counts as wrong";
    const why = lead < 0 ? "on the wrong side" : lead > 0 ? "too near" : onPlane;
    return [
      first, `y (w·x${run.offset ? " + b" : ""}) = ${number(lead)} ${settings.mistake === "strict" ? "<" : "≤"} ${limit}: ${why}`,
      `w ← w + η y x = ${weights(before)} ${y > 0 ? "+" : "−"} ${step} = ${weights(after)}`,
      run.offset ? `b ← b + η y = ${offset(before)} ${signed(y * run.eta)} = ${offset(after)}` : "no offset: the plane stays at the origin",
    ];
  }

  // ------------------------------------------------------------------------------------------------------- the verdict

  function drawVerdict() {
    const { run, theory, steps, space, settings } = state.shown ?? {}, verdict = theory?.verdict, kind = verdict?.kind, many = run?.machines > 1, rest = theory?.rest;
    const rows = [...new Set(verdict?.core?.map(({ row }) => row))].map(name).join(", ");
    const proof = !kind || kind === "unknown" ? "" : rows ? ` ${rows} contradict each other: proved in exact arithmetic.` : " Proved in exact arithmetic.";
    const mapped = settings?.features === "quadratic" ? " In the space of the columns, their squares and products." : "";
    const offset = theory?.offsetHelps ? " With an offset some plane separates them." : "";
    root.dataset.verdict = kind ?? "";
    const nothing = space?.kernel ? [run.stop === "separated" ? "Separated by the kernel" : "With a kernel", "A plane in a space that is never computed; its border here is a curve. There is no exact verdict on it: the run itself shows whether it ends."] : run ? ["…", "Deciding."] : ["No verdict yet", "Two classes are needed."];
    put(part.kind, verdict ? title(kind, run.offset) : nothing[0]);
    drawFewest();
    part.check.hidden = !kind || kind === "unknown";
    if (checked !== verdict) { checker.clear(); checked = verdict; }
    put(part.kindSaid, verdict ? `${sentence(meaning(kind, run.offset, many))}${proof}${mapped}${offset}` : nothing[1]);
    part.offset.hidden = !verdict?.core || settings.fit_intercept;
    part.map.hidden = !verdict?.core || settings.features !== "columns" || !settings.fit_intercept || state.shown.seen[0].length > 6;
    const tell = (key, value, text) => {
      const node = part[`fact-${key}`];
      put(node, text ?? (typeof value === "number" ? number(value, 5) : value ?? "–"));
      node.dataset.value = value ?? "";
    };
    const unbounded = (kind && kind !== "separable") || rest ? "none" : "–";
    const allowed = rest ? (rest.every(({ bounding }) => bounding) ? rest.reduce((sum, one) => sum + restBound(one).allowed, 0) : null) : steps?.allowed;
    tell("mistakes", run?.mistakes);
    drawCount();
    tell("allowed", allowed, allowed == null ? unbounded : `≤ ${allowed}`);
    tell("radius", run?.radius);
    tell("gamma", steps?.margin);
    tell("widest", theory?.drawn?.margin);
    tell("margin", run?.margin);
    tell("errors", run?.errors, run && `${run.errors} of ${run.used.length}`);
    const test = run?.passes.at(-1)?.test;
    part["box-test"].hidden = test == null;
    tell("test", test ?? null, test == null ? "–" : `${number(100 * test, 3)} %`);
    tell("stop", run?.stop, run?.stop.replace("_", " "));
    part["fact-stop"].parentNode.title = run ? sentence(STOPPED[run.stop]) : "Why the run ended";
  }
  // How far from separable: the fewest points that any plane has wrong, between bounds that are proved.
  function drawFewest() {
    const fewest = state.shown?.theory?.fewest, few = fewest && fewest.rows.length <= 12;
    for (const key of ["remove", "flip"]) part[key].hidden = !fewest?.rows.length || state.settings.noise > 0;
    part.fewest.hidden = !fewest;
    if (!fewest) return;
    const { lower, upper, rows } = fewest, points = (n) => `${n} point${n === 1 ? "" : "s"}`;
    const bracket = lower === upper ? `The best plane has ${points(upper)} wrong, and no plane has fewer: proved.` : `The best plane found has ${points(upper)} wrong; it is proved that no plane has fewer than ${lower}.`;
    put(part.fewest, `${bracket} In the way: ${few ? rows.map(name).join(", ") : `${rows.length} points, marked with a cross`}.`);
  }
  // The proof is checked again, by code that shares nothing with the search.
  let checked = null;
  const checker = mountChecker(part.check, { proof: () => proofDocument(state.shown, state.shown.theory?.verdict), data: () => (state.shown?.question ? provedTable(state.shown) : { rows: 0 }) });
  function drawCount() { // how many mistakes so far, and in all
    const run = state.shown?.run;
    if (run) put(part["fact-mistakes"], `${state.k} of ${run.mistakes}`);
  }
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

  // --------------------------------------------------------------------------------------------------------- the proof

  function drawProof() {
    const { theory, run, steps } = state.shown ?? {};
    if (theory?.rest) drawRest(theory.rest, run);
    else if (steps) drawTheorem(steps, run);
    else if (theory?.verdict.core) drawRefutation(theory.verdict, run);
    else {
      renew("nothing", () => [html("h2", {}, "The proof"), (part.none = html("p", { class: "small" }))]);
      put(part.none, state.shown?.space?.kernel ? "The bound R²/γ² holds in the space of the kernel too; this page does not compute γ there." : "It appears here as soon as there are points of two classes.");
    }
  }
  function renew(about, make) { // what the panel is made of changes only with what it is about
    if (part.proof.dataset.about === about) return false;
    part.proof.dataset.about = about;
    part.proof.replaceChildren(...make());
    return true;
  }

  function drawTheorem(steps, run) {
    const lemma = (key, heading, text) =>
      html("div", {}, html("h3", {}, heading), html("p", {}, text), (part[`proof-${key}`] = html("p", { class: "numbers", "data-proof": key })));
    const many = run.machines > 1, score = many ? "the lead of the true class under u" : `y (u·x${run.offset ? " + b" : ""})`, m = updateMargin();
    const { least, most, step } = formulas(run);
    renew(`theorem ${least} ${most}`, () => [
      html("h2", {}, "The proof, with the numbers of this run"),
      html("div", { class: "lemmas" },
        lemma("one", "1 · Mistakes are progress", `u has length 1, and ${score} is at least γ everywhere: so w·u grows by at least ηγ.`),
        lemma("two", "2 · w cannot grow fast", `At a mistake ${many ? "the lead of the true class" : `y (w·x${run.offset ? " + b" : ""})`} is at most ${m ? "m" : "0"}: so ‖w‖² grows by at most ${step}.`),
        lemma("end", "Therefore", `w·u ≤ ‖w‖ squeezes k: ${least} stays under the root of ${most}.`)),
      (part.checked = html("p", { class: "small" })),
    ]);
    const { k } = state, filled = (formula) => fill(formula, steps, run, k);
    const compare = (small, large) => (small <= large + 1e-9 * (1 + Math.abs(large)) ? "✓" : "✗"); // both sides are rounded: the mark allows for a few last digits
    put(part["proof-one"], `w·u = ${number(steps.progress[k], 5)} ≥ ${least} = ${filled(least)} = ${number(steps.progressBound[k], 5)} ${compare(steps.progressBound[k], steps.progress[k])}`);
    put(part["proof-two"], `‖w‖² = ${number(steps.growth[k], 5)} ≤ ${most} = ${filled(most)} = ${number(steps.growthBound[k], 5)} ${compare(steps.growth[k], steps.growthBound[k])}`);
    put(part["proof-end"], `k = ${k} ≤ ${limitWords(steps, run)} ${compare(k, steps.limit)}`);
    put(part.checked, [
      steps.holds ? `All ${run.mistakes} steps checked: every inequality holds.` : "Some inequality fails by more than rounding: numbers of very different sizes may do that.",
      run.offset ? "With an offset, γ and w are those of the points (x, 1), whose squared length is at most R² + 1." : "",
      many ? "With more than two classes w is all weight vectors together; two of them move at a mistake, hence the factor 2." : "",
    ].join(" "));
  }
  const updateMargin = () => (state.shown.settings.mistake === "violation" ? state.shown.settings.update_margin : 0);
  // The bound as a formula with the numbers that give it.
  function limitWords(steps, run) {
    const many = run.machines > 1, top = squaredUpdate(run.offset, many), m = updateMargin();
    if (run.fromZero && !m) return `${top}/γ² = ${top.replace("2R", "2·R").replace("2(", "2·(").replace("R", number(run.radius, 6))}/${number(steps.margin, 6)}² = ${number(steps.limit, 6)}`;
    const longer = m ? `(${top} + 2m/η)` : top;
    return `h + √(h² + r) = ${number(steps.limit, 6)}, with h = ${longer}/(2γ²) − w₀·u/(ηγ) = ${number(steps.half, 6)} and r = (‖w₀‖² − (w₀·u)²)/(ηγ)² = ${number(steps.rest, 6)}`;
  }
  // The two sides of the squeeze as formulas: from zero or other weights, with or without an update margin.
  function formulas(run) {
    const many = run.machines > 1 && !run.apart, zero = run.fromZero, m = updateMargin();
    return {
      length: updateLength(run.offset, many), step: `${squaredUpdate(run.offset, many, "η²")}${m ? " + 2ηm" : ""}`, plain: zero && !m,
      least: zero ? "kηγ" : "w₀·u + kηγ", most: `${zero ? "" : "‖w₀‖² + "}${squaredUpdate(run.offset, many, "kη²")}${m ? " + 2kηm" : ""}`,
    };
  }
  function fill(formula, steps, run, k) { // numbers for letters, with a dot between factors
    const letters = {
      "w₀·u": number(steps.start, 6), "‖w₀‖²": number(steps.square, 6), "η²": `${number(run.eta)}²`, "R²": `${number(run.radius, 6)}²`,
      k: String(k), η: number(run.eta), γ: number(steps.margin, 6), m: number(updateMargin()),
    };
    const parts = formula.match(/w₀·u|‖w₀‖²|η²|R²|[kηγm]|\d+|[()+]/g);
    return parts.reduce((text, piece) => {
      const factor = /[\d²)]$/.test(text) && !/^[)+]$/.test(piece), sign = piece === "+";
      return `${text}${factor ? "·" : ""}${sign ? " + " : letters[piece] ?? piece}`;
    }, "");
  }
  // The formulas above the charts follow the run: with an offset, start weights or more classes they are longer.
  function drawFormulas() {
    const { run } = state.shown ?? {};
    if (!run) return;
    const moved = run.fromZero ? "‖w‖" : "‖w − w₀‖";
    const { plain, least, most, length } = formulas(run), under = plain ? `√k η${length}` : `√(${most})`;
    const said = {
      squeeze: `{u:${least}} ≤ {thin:w·u} ≤ {w:‖w‖} ≤ {upper:${under}}`, growth: `{w:‖w‖²} ≤ {upper:${most}}`,
      cosine: `{w:cos∠(w,u)} ≥ {u:${plain ? `√k γ/${length}` : `(${least})/${under}`}}`, running: `{u:γ} ≤ {w:${moved}/(ηk)}`,
      errors: run.held.length ? "{upper:training error}, {w:test error}" : "{w:mistakes}, {upper:errors}",
    };
    for (const key in said) part[`formula-${key}`].replaceChildren(...colored(said[key]));
  }

  // One-against-rest: a perceptron, a verdict and a bound for every class.
  const restBound = ({ bounding }) => { const { run } = state.shown; return bound({ radius: run.radius, offset: run.offset, many: false, eta: run.eta, updateMargin: updateMargin(), margin: bounding.margin }); };
  function drawRest(rest, run) {
    renew("rest", () => [
      html("h2", {}, "Each class against the rest: a proof for each"),
      html("p", { class: "small" }, "Each class has a perceptron of its own, with the rest of the points on the other side, and its own bound on the mistakes."),
      (part.rest = html("ul", { class: "rest", "data-part": "rest" })),
    ]);
    const { classes } = state.shown, made = classes.map(() => 0), through = run.offset ? "" : " through the origin";
    const kinds = { separable: `a plane${through} parts it from the rest`, quasi: `only weakly separable${through} from the rest`, overlap: `no plane${through} parts it from the rest`, unknown: "undecided" };
    for (let t = 0; t < state.k; t++) made[run.concerned[t]]++;
    part.rest.replaceChildren(...rest.map((one, c) => {
      const limits = one.bounding && restBound(one), top = squaredUpdate(run.offset, false);
      const limit = limits ? ` ≤ ${top}/γ² = ${number(limits.limit, 6)}, so at most ${limits.allowed} ${made[c] <= limits.allowed ? "✓" : "✗"}` : "";
      const against = one.core ? `: ${[...new Set(one.core.map(({ row }) => row))].map(name).join(", ")} contradict each other` : "";
      return html("li", { class: `c${state.classes.indexOf(classes[c])}` }, html("b", {}, tag(classes[c])),
        html("span", {}, ` ${kinds[one.kind]}${against}`), html("span", { class: "numbers" }, `k = ${made[c]}${limit}`));
    }));
  }

  function drawRefutation(verdict, run) {
    const { classes, codes } = state.shown, { core } = verdict, rows = core.map(({ row }) => row), total = core.reduce((sum, { multiplier }) => sum + multiplier, 0n);
    const shares = core.map(({ multiplier }) => Number((multiplier * 1_000_000_000_000n) / total) / 1e12);
    const fresh = renew(`refutation ${rows} ${classes.length} ${run.offset}`, () => [
      html("h2", {}, `No plane${run.offset ? "" : " through the origin"}: these points contradict each other`),
      html("div", { class: "refutation" },
        (part.walk = svg("svg", { class: "walk", role: "img", "aria-label": "The weighted points add up to zero" })),
        html("div", {},
          (part.cancel = html("ul", { "data-part": "cancel" })),
          html("p", { class: "sum" }, html("b", {}, "sum "), (part.sum = html("span"))),
          html("p", { class: "small" }, classes.length > 2
            ? "Weights that are right about all of them would make the weighted sum of the differences Θ(own)·x − Θ(rival)·x positive. "
            : `A plane that is right about all of them would make the weighted sum of y(w·x${run.offset ? " + b" : ""}) positive. `,
            "The sum is zero, whatever the weights."),
          html("button", { type: "button", "data-do": "walk", onclick: () => walk(walksOf(state.shown), true) }, "Watch them cancel"))),
    ]);
    const item = ({ row, rival, multiplier }, i) => {
      const exact = String(multiplier), shown = exact.length < 10 ? exact : number(shares[i]);
      const against = classes.length === 2 ? (codes[row] ? "(+x)" : "(−x)") : `(${tag(classes[codes[row]])} against ${tag(classes[rival])})`;
      return html("li", { class: color(row), title: `row ${row} (from 0), exactly ${exact} of ${total}` }, html("b", {}, name(row)), ` ${shown} × ${against}`);
    };
    const sum = run.offset ? "Σλyx = 0 and Σλy = 0" : "Σλyx = 0";
    part.cancel.replaceChildren(...core.map(item));
    put(part.sum, `${classes.length > 2 ? "for every class " : ""}${sum}, exactly`);
    walk(walksOf(state.shown), fresh);

    // For each class (one of two is enough) the sums of the rows as they cancel, in the order of their directions.
    function walksOf(shown) {
      const drawn = rows.map((row) => { const x = shown.space.rows[row], { basis } = shown.view; return shown.linear ? basis.map((axis) => axis.reduce((s, a, j) => s + a * x[j], 0)) : [x[0], x[1] ?? 0]; });
      return (classes.length > 2 ? classes.map((_, c) => c) : [1]).flatMap((c) => {
        const signs = core.map(({ row, rival }) => (codes[row] === c ? 1 : 0) - (rival === c ? 1 : 0)), used = [...signs.keys()].filter((i) => signs[i]);
        if (!used.length) return [];
        const legs = used.map((i) => ({ row: rows[i], leg: drawn[i].map((v) => signs[i] * shares[i] * v) })).sort((p, q) => Math.atan2(p.leg[1], p.leg[0]) - Math.atan2(q.leg[1], q.leg[0]));
        const sums = [[0, 0]];
        for (const { leg } of legs) sums.push(sums.at(-1).map((v, j) => v + leg[j]));
        return [{ rows: legs.map(({ row }) => row), sums }];
      });
    }
  }
  const color = (row) => `c${state.classes.indexOf(state.shown.classes[state.shown.codes[row]])}`;

  // The weighted points, one after the other, lead back to where they began.
  let walking = 0;
  function walk(walks, slowly) {
    const width = part.walk.clientWidth || 220, height = part.walk.clientHeight || 180, all = walks.flatMap(({ sums }) => sums);
    const [x0, x1, y0, y1] = [0, 1].flatMap((j) => [Math.min(...all.map((p) => p[j])), Math.max(...all.map((p) => p[j]))]);
    const size = Math.min((width - 60) / Math.max(x1 - x0, 1e-12), (height - 60) / Math.max(y1 - y0, 1e-12));
    const at = ([x, y]) => [width / 2 + (x - (x0 + x1) / 2) * size, height / 2 - (y - (y0 + y1) / 2) * size];
    const steps = Math.max(...walks.map(({ rows }) => rows.length)), [zx, zy] = at([0, 0]);
    const draw = (time) => {
      const legs = walks.flatMap(({ rows, sums }, w) =>
        rows.flatMap((row, i) => (time > i ? leg(row, at(sums[i]), at(sums[i + 1]), Math.min(1, time - i), w === 0) : [])));
      part.walk.replaceChildren(svg("circle", { cx: zx, cy: zy, r: 5, class: "origin" }), svg("text", { x: zx + 9, y: zy + 16 }, "0"), ...legs);
    };
    cancelAnimationFrame(walking);
    if (!slowly || quiet()) { draw(steps); return; }
    let begun = null;
    const frame = (now) => {
      begun ??= now;
      const time = Math.min(steps, (now - begun) / 700);
      draw(time);
      if (time < steps) walking = requestAnimationFrame(frame);
    };
    walking = requestAnimationFrame(frame);
  }
  function leg(row, p, q, done, named) { // an arrow from p on its way to q
    const e = p.map((v, j) => v + (q[j] - v) * done), whole = Math.hypot(q[0] - p[0], q[1] - p[1]);
    const [dx, dy] = [(q[0] - p[0]) / (whole || 1), (q[1] - p[1]) / (whole || 1)];
    const wing = (side) => [e[0] - dx * 9 - side * dy * 4.5, e[1] - dy * 9 + side * dx * 4.5];
    const drawn = [svg("path", { class: `leg ${color(row)}`, d: `M${p}L${e}` }), svg("path", { class: `tip ${color(row)}`, d: `M${e}L${wing(1)}L${wing(-1)}Z` })];
    const [x, y] = [(p[0] + q[0]) / 2 - dy * 12, (p[1] + q[1]) / 2 + dx * 12 + 4];
    return named && whole > 12 ? [...drawn, svg("text", { x, y, "text-anchor": "middle" }, name(row))] : drawn;
  }

  return { drawStep, drawVerdict, drawProof, drawFormulas, drawCount };
}
