// What is said of the run: this update, the verdict, and the proof with its numbers.

import { colored, html, name, number, put, quiet, signed, svg, tag, vector } from "./elements.js";

export function words(page) {
  const { state, part, root } = page;

  // ------------------------------------------------------------------------------------------------------- this update

  function drawStep() {
    const run = state.shown?.run, lines = run ? stepLines(run, run.frames[state.index]) : [];
    for (let i = 0; i < 4; i++) put(part[`step${i}`], lines[i] ?? "\u00a0");
  }

  function stepLines(run, k) {
    const { classes } = state.shown, before = run.before[state.index], after = run.after[state.index];
    const weights = (w) => vector(w.slice(0, -1), run.columns), offset = (w) => number(w.at(-1));
    const andOffset = (w) => (run.offset ? `, b = ${offset(w)}` : "");
    const many = after.length > 1;
    if (k === 0) return ["Before the first mistake", many ? `all ${after.length} weight vectors are zero` : `w = ${weights(after[0])}${andOffset(after[0])}`];

    const row = run.trace[k - 1], lead = run.leads[state.index], label = state.labels[row];
    const x = vector(run.inputs[row], run.columns), step = `${number(run.eta)}·${x}`;
    const pass = run.pass.number[run.pass.end.findIndex((end) => end >= k)] ?? run.passes;
    const first = `Mistake ${k}, in pass ${pass}: ${name(row)}, x = ${x}, label ${tag(label)}`;
    if (run.apart) {
      const c = run.rivals[state.index], y = classes[c] === label ? 1 : -1, side = y > 0 ? "of its class" : "of the rest";
      return [
        first,
        `machine of ${tag(classes[c])}: y (Θ·x${run.offset ? " + b" : ""}) = ${number(lead)} ≤ ${number(run.update_margin)}, and x is ${side}`,
        `Θ(${tag(classes[c])}) ← ${weights(before[c])} ${y > 0 ? "+" : "−"} ${step} = ${weights(after[c])}${andOffset(after[c])}`,
        "the machines of the other classes stay",
      ];
    }
    if (many) {
      const own = classes.indexOf(label), rival = run.rivals[state.index];
      const update = (c, sign) => `Θ(${tag(classes[c])}) ← ${weights(before[c])} ${sign} ${step} = ${weights(after[c])}${andOffset(after[c])}`;
      return [first, `lead of ${tag(label)} over ${tag(classes[rival])} = ${number(lead)} ≤ ${number(run.update_margin)}: ${lead > 0 ? "too little" : "not strictly highest"}`, update(own, "+"), update(rival, "−")];
    }
    const y = label === classes[1] ? 1 : -1, [v, w] = [before[0], after[0]];
    const onPlane = state.settings.mistake === "prediction" ? `on the plane, where ${tag(classes[state.settings.on_plane > 0 ? 1 : 0])} is predicted` : "on the plane, which counts as wrong";
    const why = lead < 0 ? "on the wrong side" : lead > 0 ? "too near" : onPlane;
    return [
      first,
      `y (w·x${run.offset ? " + b" : ""}) = ${number(lead)} ≤ ${number(run.update_margin)}: ${why}`,
      `w ← w + η y x = ${weights(v)} ${y > 0 ? "+" : "−"} ${step} = ${weights(w)}`,
      run.offset ? `b ← b + η y = ${offset(v)} ${signed(y * run.eta)} = ${offset(w)}` : "no offset: the plane stays at the origin",
    ];
  }

  // ------------------------------------------------------------------------------------------------------- the verdict

  function drawVerdict() {
    const { run, verdict, margin, theorem, rest } = state.shown ?? {}, kind = verdict?.kind;
    const rows = [...new Set(verdict?.refutation?.rows)].map(name).join(", ");
    const proof = !kind || kind === "unknown" ? "" : rows ? ` ${rows} contradict each other: proved in exact arithmetic.` : " Proved in exact arithmetic.";
    const offset = verdict?.offset_helps ? " With an offset some plane separates them." : "";
    root.dataset.verdict = kind ?? "";
    put(part.kind, verdict?.title ?? "No verdict yet");
    drawFewest();
    part.check.hidden = !kind || kind === "unknown";
    checker.clear();
    put(part.kindSaid, verdict ? `${sentence(verdict.said)}${proof}${offset}` : "Two classes are needed.");
    if (part.offset) part.offset.hidden = !verdict?.refutation || state.settings.fit_intercept;
    const tell = (key, value, text) => {
      const node = part[`fact-${key}`];
      put(node, text ?? (typeof value === "number" ? number(value, 5) : value ?? "–"));
      node.dataset.value = value ?? "";
    };
    const unbounded = (kind && kind !== "separable") || rest ? "none" : "–";
    const allowed = rest?.every((one) => one.allowed != null) ? rest.reduce((sum, one) => sum + one.allowed, 0) : theorem?.allowed;
    tell("mistakes", run?.mistakes);
    drawCount();
    tell("allowed", allowed, allowed == null ? unbounded : `≤ ${allowed}`);
    tell("radius", theorem?.radius ?? run?.radius);
    tell("gamma", theorem?.margin);
    tell("widest", margin?.lower);
    tell("margin", run?.margin);
    tell("errors", run?.errors, run && `${run.errors} of ${run.rows}`);
    tell("stop", run?.stop, run?.stop.replace("_", " "));
    part["fact-stop"].parentNode.title = run ? sentence(run.stopped) : "Why the run ended";
  }
  // How far from separable: the fewest points that any plane has wrong, between bounds that are proved.
  function drawFewest() {
    const { fewest } = state.shown ?? {}, few = fewest && fewest.rows.length <= 12;
    for (const key of ["remove", "flip"]) if (part[key]) part[key].hidden = !fewest?.rows.length;
    part.fewest.hidden = !fewest;
    if (!fewest) return;
    const { lower, upper, rows } = fewest, points = (n) => `${n} point${n === 1 ? "" : "s"}`;
    const bracket = lower === upper ? `The best plane has ${points(upper)} wrong, and no plane has fewer: proved.` : `The best plane found has ${points(upper)} wrong; no plane has fewer than ${lower}.`;
    put(part.fewest, `${bracket} In the way: ${few ? rows.map(name).join(", ") : `${rows.length} points, marked with a cross`}.`);
  }
  // The proof is checked again in the browser, by code that shares nothing with Python's.
  const columns = () => page.shownColumns() ?? [...(state.rows[0] ?? []).keys()];
  const used = (row) => (state.rows[0]?.length > 2 && state.settings.columns ? columns().map((j) => row[j]) : row);
  const checker = linsepChecker.mountChecker(part.check, {
    proof: async () => {
      if (page.line.replay) return page.line.replay.proof;
      const asked = { points: { rows: state.rows, labels: state.labels, names: state.names }, settings: state.settings };
      return (await page.ask("proof", asked))?.document ?? "";
    },
    data: () => ({ rows: state.rows.length, cells: (i) => used(state.rows[i]), label: (i) => state.labels[i] }),
  });
  function drawCount() { // how many mistakes so far, and in all
    const run = state.shown?.run;
    if (run) put(part["fact-mistakes"], `${run.frames[state.index]} of ${run.mistakes}`);
  }
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

  // --------------------------------------------------------------------------------------------------------- the proof

  function drawProof() {
    const { theorem, verdict, run, rest } = state.shown ?? {};
    if (rest) drawRest(rest, run);
    else if (theorem) drawTheorem(theorem, run);
    else if (verdict?.refutation) drawRefutation(verdict.refutation, run);
    else {
      const said = state.shown?.note || "It appears here as soon as there are points of two classes.";
      renew("nothing", () => [html("h2", {}, "The proof"), (part.none = html("p", { class: "small" }))]);
      put(part.none, said);
    }
  }
  function renew(about, make) { // what the panel is made of changes only with what it is about
    if (part.proof.dataset.about === about) return false;
    part.proof.dataset.about = about;
    part.proof.replaceChildren(...make());
    return true;
  }

  function drawTheorem(theorem, run) {
    const lemma = (key, title, said) =>
      html("div", {}, html("h3", {}, title), html("p", {}, said), (part[`proof-${key}`] = html("p", { class: "numbers", "data-proof": key })));
    const many = run.after[0].length > 1, score = many ? "the lead of the true class under u" : `y (u·x${run.offset ? " + b" : ""})`;
    const { least, most, step } = formulas(run);
    renew(`theorem ${least} ${most}`, () => [
      html("h2", {}, "The proof, with the numbers of this run"),
      html("div", { class: "lemmas" },
        lemma("one", "1 · Mistakes are progress", `u has length 1, and ${score} is at least γ everywhere: so w·u grows by at least ηγ.`),
        lemma("two", "2 · w cannot grow fast", `At a mistake ${many ? "the lead of the true class" : `y (w·x${run.offset ? " + b" : ""})`} is at most ${run.update_margin ? "m" : "0"}: so ‖w‖² grows by at most ${step}.`),
        lemma("end", "Therefore", `w·u ≤ ‖w‖ squeezes k: ${least} stays under the root of ${most}.`)),
      (part.checked = html("p", { class: "small" })),
    ]);
    const at = state.index, k = run.frames[at], filled = (formula) => fill(formula, theorem, run, k);
    // both sides are rounded: the mark allows for a few last digits, the audit in Python for exactly what can be lost
    const compare = (small, large) => (small <= large + 1e-9 * Math.abs(large) ? "✓" : "✗");
    const [progress, lower] = [theorem.progress[at], theorem.progress_bound[at]];
    const [growth, upper] = [theorem.growth[at], theorem.growth_bound[at]];
    put(part["proof-one"], `w·u = ${number(progress, 5)} ≥ ${least} = ${filled(least)} = ${number(lower, 5)} ${compare(lower, progress)}`);
    put(part["proof-two"], `‖w‖² = ${number(growth, 5)} ≤ ${most} = ${filled(most)} = ${number(upper, 5)} ${compare(growth, upper)}`);
    put(part["proof-end"], `k = ${k} ≤ ${theorem.limit_said} ${compare(k, theorem.limit)}`);
    put(part.checked, [
      theorem.holds ? `All ${run.mistakes} steps checked: every inequality holds.` : theorem.violation,
      theorem.doubt,
      theorem.form === "augmented" ? "With an offset, γ and w are those of the points (x, 1), whose squared length is at most R² + 1." : "",
      many ? "With more than two classes w is all weight vectors together; two of them move at a mistake, hence the factor 2." : "",
    ].join(" "));
  }
  // The two sides of the squeeze as formulas: from zero or other weights, with or without an update margin.
  function formulas(run) {
    const { step, growth, length } = run.formulas, zero = run.from_zero;
    return {
      length, step: `${step}${run.update_margin ? " + 2ηm" : ""}`, plain: zero && !run.update_margin,
      least: zero ? "kηγ" : "w₀·u + kηγ", most: `${zero ? "" : "‖w₀‖² + "}${growth}${run.update_margin ? " + 2kηm" : ""}`,
    };
  }
  function fill(formula, theorem, run, k) { // numbers for letters, with a dot between factors
    const letters = {
      "w₀·u": number(theorem.start.along, 6), "‖w₀‖²": number(theorem.start.square, 6), "η²": `${number(run.eta)}²`, "R²": `${number(theorem.radius, 6)}²`,
      k: String(k), η: number(run.eta), γ: number(theorem.margin, 6), m: number(run.update_margin),
    };
    const parts = formula.match(/w₀·u|‖w₀‖²|η²|R²|[kηγm]|\d+|[()+]/g);
    return parts.reduce((text, part) => {
      const factor = /[\d²)]$/.test(text) && !/^[)+]$/.test(part), sign = part === "+";
      return `${text}${factor ? "·" : ""}${sign ? " + " : letters[part] ?? part}`;
    }, "");
  }
  // The formulas above the charts follow the run: with an offset, start weights or more classes they are longer.
  function drawFormulas() {
    const { run } = state.shown ?? {};
    if (!run) return;
    const moved = run.from_zero ? "‖w‖" : "‖w − w₀‖";
    const { plain, least, most, length } = formulas(run), root = plain ? `√k η${length}` : `√(${most})`;
    const said = {
      squeeze: `{u:${least}} ≤ {thin:w·u} ≤ {w:‖w‖} ≤ {upper:${root}}`, growth: `{w:‖w‖²} ≤ {upper:${most}}`,
      cosine: `{w:cos∠(w,u)} ≥ {u:${plain ? `√k γ/${length}` : `(${least})/${root}`}}`, running: `{u:γ} ≤ {w:${moved}/(ηk)}`,
    };
    for (const key in said) part[`formula-${key}`].replaceChildren(...colored(said[key]));
  }

  // One-against-rest: a perceptron, a verdict and a bound for every class.
  function drawRest(rest, run) {
    renew("rest", () => [
      html("h2", {}, "Each class against the rest: a proof for each"),
      html("p", { class: "small" }, "Each class has a perceptron of its own, with the rest of the points on the other side, and its own bound on the mistakes."),
      (part.rest = html("ul", { class: "rest", "data-part": "rest" })),
    ]);
    const { classes } = state.shown, k = run.frames[state.index], made = classes.map(() => 0);
    const through = run.offset ? "" : " through the origin";
    const kinds = { separable: `a plane${through} parts it from the rest`, quasi: `only weakly separable${through} from the rest`, overlap: `no plane${through} parts it from the rest` };
    for (let t = 0; t < k; t++) made[run.machines[t]]++;
    part.rest.replaceChildren(...rest.map(({ class: c, kind, allowed, limit_said, rows }) => {
      const limit = allowed == null ? "" : ` ≤ ${limit_said}, so at most ${allowed} ${made[c] <= allowed ? "✓" : "✗"}`;
      const against = rows ? `: ${rows.map(name).join(", ")} contradict each other` : "";
      return html("li", { class: `c${state.classes.indexOf(classes[c])}` }, html("b", {}, tag(classes[c])),
        html("span", {}, ` ${kinds[kind] ?? "undecided"}${against}`), html("span", { class: "numbers" }, `k = ${made[c]}${limit}`));
    }));
  }

  function drawRefutation(refuted, run) {
    const { classes } = state.shown;
    const fresh = renew(`refutation ${refuted.rows} ${classes.length} ${run.offset}`, () => [
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
          html("button", { type: "button", "data-do": "walk", onclick: () => walk(state.shown.verdict.refutation, true) }, "Watch them cancel"))),
    ]);
    const item = (row, i) => {
      const exact = refuted.multipliers[i], shown = exact.length < 10 ? exact : `${number(refuted.shares[i])}…`;
      const side = state.labels[row] === classes[1] ? "(+x)" : "(−x)";
      const against = classes.length === 2 ? side : `(${state.labels[row]} against ${classes[refuted.rivals[i]]})`;
      return html("li", { class: color(row), title: `row ${row} (from 0), exactly ${exact}` }, html("b", {}, name(row)), ` ${shown} × ${against}`);
    };
    const sum = run.offset ? "Σλyx = 0 and Σλy = 0" : "Σλyx = 0";
    part.cancel.replaceChildren(...refuted.rows.map(item));
    put(part.sum, `${classes.length > 2 ? "for every class " : ""}${sum}, exactly`);
    walk(refuted, fresh);
  }
  const color = (row) => `c${state.classes.indexOf(state.labels[row])}`;

  // The weighted points, one after the other, lead back to where they began.
  let walking = 0;
  function walk(refuted, slowly) {
    const width = part.walk.clientWidth || 220, height = part.walk.clientHeight || 180, all = refuted.walks.flatMap(({ sums }) => sums);
    const [x0, x1, y0, y1] = [0, 1].flatMap((j) => [Math.min(...all.map((p) => p[j])), Math.max(...all.map((p) => p[j]))]);
    const size = Math.min((width - 60) / Math.max(x1 - x0, 1e-12), (height - 60) / Math.max(y1 - y0, 1e-12));
    const at = ([x, y]) => [width / 2 + (x - (x0 + x1) / 2) * size, height / 2 - (y - (y0 + y1) / 2) * size];
    const steps = Math.max(...refuted.walks.map(({ rows }) => rows.length)), [zx, zy] = at([0, 0]);
    const draw = (time) => {
      const legs = refuted.walks.flatMap(({ rows, sums }, w) =>
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
