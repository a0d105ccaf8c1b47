// The charts: the two inequalities, the angle, the running bound, the passes.

import { number, put, set, svg, ticks } from "./elements.js";
import { CHARTS } from "./structure.js";

export function charting(page) {
  const { state, part } = page;

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
      page.pause();
      if (!charts[key].passes) return page.go(nearest(at));
      const p = Math.max(0, run.pass.number.findIndex((number) => number >= at));
      page.go(nearest(run.pass.end[p]));
    };
    node.addEventListener("pointermove", follow);
    node.addEventListener("pointerdown", follow);
    node.addEventListener("keydown", (event) => page.walkKeys(event));
  }

  return { drawCharts, drawCursors };
}
