// What is said of the run: this update, the verdict, and the proof with its numbers.

import { html, name, number, put, quiet, signed, svg, tag, vector } from "./elements.js";

const STOPS = {
  separated: "a full pass without a mistake", max_iter: "the passes are spent", max_updates: "the updates are spent",
  loss_plateau: "the loss no longer falls", validation: "held-out rows get no better",
  margin_refuted: "no plane has the margin asked for",
};

export function words(page) {
  const { state, part, root } = page;

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

  return { drawStep, drawVerdict, drawProof };
}
