// The charts: the two inequalities, the angle, the running bound, the passes.

import { number, put, set, svg, ticks } from "./elements.js";
import { CHARTS } from "./structure.js";

const rule = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });
const text = (x, y, anchor, words, kind) => svg("text", { x, y, "text-anchor": anchor, class: kind }, words);

// Of the points of a curve that fall on one column of pixels the first, the highest, the lowest and the last.
function thinned(points) {
  const kept = [];
  for (let i = 0, j; i < points.length; i = j) {
    for (j = i; j < points.length && Math.floor(points[j][0]) === Math.floor(points[i][0]);) j++;
    const here = points.slice(i, j), ys = here.map(([, y]) => y);
    const marks = new Set([0, ys.indexOf(Math.min(...ys)), ys.indexOf(Math.max(...ys)), ys.length - 1]);
    kept.push(...[...marks].sort((a, b) => a - b).map((m) => here[m].map((v) => v.toFixed(1))));
  }
  return kept;
}

export function charting(page) {
  const { state, part } = page;
  let charts = {}; // name -> what is drawn, see chartData
  let cursors = {}; // name -> the line at the present mistake, and the scale of the chart both ways

  // For each chart: its lines {x, y, kind}; `value` says it in numbers for frame i in pass p; `upright` marks the bound,
  // `level` the margin; nothing is drawn beyond `reach`; `passes` if its axis counts passes instead of mistakes.
  function chartData() {
    const { run, theorem } = state.shown ?? {};
    if (!run) return {};
    const k = run.frames, passes = run.pass.number, most = Math.max(4, run.mistakes);
    const far = theorem && theorem.limit > 12 * most; // the bound is too far away to be seen on the same axis
    const bound = theorem && { upright: { x: theorem.limit, label: `bound ${number(theorem.limit)}`, far }, reach: far ? 2 * most : Infinity };
    const found = {
      growth: {
        ...bound,
        lines: [{ x: k, y: run.growth, kind: "w" }, { x: k, y: run.growth_bound, kind: "upper" }],
        value: (i) => `${number(run.growth[i])} ≤ ${number(run.growth_bound[i])}`,
      },
      running: {
        lines: [{ x: k, y: run.moved, kind: "w" }],
        level: theorem && { y: theorem.margin, label: "γ" },
        log: true,
        value: (i) => (run.moved[i] == null ? "∞" : `${theorem ? `${number(theorem.margin)} ≤ ` : ""}${number(run.moved[i])}`),
      },
      loss: { passes, lines: [{ x: passes, y: run.pass.loss, kind: "w" }], value: (_, p) => number(run.pass.loss[p]) },
      errors: {
        passes,
        lines: [{ x: passes, y: run.pass.mistakes, kind: "w" }, { x: passes, y: run.pass.errors, kind: "upper" }],
        value: (_, p) => `${run.pass.mistakes[p] ?? 0} made, ${run.pass.errors[p] ?? 0} wrong`,
      },
    };
    if (run.apart) delete found.running; // of which margin?
    if (!theorem) return found;
    const root = (values) => values.map((v) => (v == null ? null : Math.sqrt(v)));
    const norm = root(theorem.growth), norm_bound = root(theorem.growth_bound);
    const known = far // up to the last mistake, or up to the bound
      ? { k, progress: theorem.progress_bound, norm: norm_bound, growth: theorem.growth_bound, cosine: theorem.cosine_bound }
      : theorem.curve;
    found.growth.lines[1] = { x: known.k, y: known.growth, kind: "upper" };
    found.squeeze = {
      ...bound,
      lines: [
        { x: known.k, y: known.progress, kind: "u" }, { x: known.k, y: known.norm, kind: "upper" },
        { x: k, y: theorem.progress, kind: "w thin" }, { x: k, y: norm, kind: "w" },
      ],
      value: (i) => [theorem.progress_bound, theorem.progress, norm, norm_bound].map((v) => number(v[i], 3)).join(" ≤ "),
    };
    found.cosine = {
      ...bound,
      lines: [{ x: known.k, y: known.cosine, kind: "u" }, { x: k, y: theorem.cosine, kind: "w" }],
      top: 1,
      value: (i) => (theorem.cosine[i] == null ? "–" : `${number(theorem.cosine[i])} ≥ ${number(theorem.cosine_bound[i])}`),
    };
    return found;
  }

  function drawCharts() {
    charts = chartData();
    page.drawFormulas();
    cursors = {};
    for (const [key] of CHARTS) drawChart(key, charts[key]);
  }

  function drawChart(key, data) {
    const node = part[`chart-${key}`], width = node.clientWidth || 240, height = node.clientHeight || 130;
    set(node, { viewBox: `0 0 ${width} ${height}` });
    node.replaceChildren();
    part[`cursor-${key}`].hidden = !data;
    if (!data) {
      const { verdict, rest } = state.shown ?? {}, refuted = verdict && verdict.kind !== "separable";
      node.append(text(width / 2, height / 2, "middle", rest ? "one proof a class" : refuted ? "no plane, no u" : "–", "none"));
      put(part[`value-${key}`], "\u00a0");
      return;
    }
    const { upright, level, reach = Infinity } = data;
    const em = parseFloat(getComputedStyle(node).fontSize) || 12;
    const left = em * 3, right = width - 14, bottom = height - em * 1.6, above = em * (upright?.far ? 2.1 : 0.9);
    const seen = (line) => line.x.map((x, i) => [x, line.y[i]]).filter(([x, y]) => y != null && x <= reach);
    const lines = data.lines.map((line) => ({ kind: line.kind, points: seen(line) }));

    const xs = lines.flatMap((line) => line.points.map(([x]) => x));
    const ys = lines.flatMap((line) => line.points.map(([, y]) => y)).concat(level ? [level.y] : []);
    const positive = ys.filter((y) => y > 0);
    const log = data.log && positive.length > 1 && Math.max(...positive) / Math.min(...positive) > 30;
    const f = log ? (y) => Math.log10(Math.max(y, 1e-12)) : (y) => y;
    const x0 = data.passes ? 1 : 0, x1 = Math.max(x0 + 1, ...xs);
    const y0 = log ? f(Math.min(...positive)) - 0.1 : Math.min(0, ...ys);
    const y1 = log ? f(Math.max(...positive)) + 0.1 : Math.max(data.top ?? 0, ...ys) || 1;
    const X = (x) => left + ((right - left) * (x - x0)) / (x1 - x0);
    const Y = (y) => bottom - ((bottom - above) * (f(y) - y0)) / (y1 - y0);

    for (const x of ticks(x0, x1, 4)) if (Number.isInteger(x)) node.append(text(X(x), height - em * 0.4, "middle", number(x, 6)));
    for (const tick of ticks(y0, y1, 3)) {
      const y = log ? 10 ** tick : tick;
      node.append(rule(left, Y(y), right, Y(y), "rule"), text(left - 4, Y(y) + em * 0.35, "end", number(y, 2)));
    }
    if (upright?.far) node.append(text(right, em * 0.9, "end", `${upright.label} →`, "label"));
    else if (upright) {
      const x = X(upright.x);
      node.append(rule(x, above, x, bottom, "bound"), text(x - 4, bottom - em * 0.5, "end", upright.label, "label"));
    }
    if (level) node.append(rule(left, Y(level.y), right, Y(level.y), "u"), text(left + 4, Y(level.y) - 5, "start", level.label, "label"));
    for (const { kind, points } of lines) {
      const spots = thinned(points.map(([x, y]) => [X(x), Y(y)]));
      node.append(svg("path", { class: `curve ${kind}`, d: spots.length ? `M${spots.join("L")}` : "" }));
      if (points.length < 25 && kind.startsWith("w")) node.append(...spots.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.5, class: `spot ${kind}` })));
    }
    cursors[key] = { X, back: (px) => x0 + ((px - left) / (right - left)) * (x1 - x0) };
  }

  function drawCursors() {
    const run = state.shown?.run;
    if (!run) return;
    const k = run.frames[state.index], found = run.pass.end.findIndex((end) => end >= k);
    const p = found < 0 ? run.pass.end.length - 1 : found;
    for (const [key] of CHARTS) {
      if (!cursors[key]) continue;
      const { X } = cursors[key], x = X(charts[key].passes ? run.pass.number[p] : k), value = charts[key].value(state.index, p);
      part[`cursor-${key}`].style.transform = `translateX(${x - 1}px)`;
      put(part[`value-${key}`], value);
      const node = part[`chart-${key}`]; // only the one that is listened to says where it is
      if (node.matches(":focus")) set(node, { "aria-valuemax": run.mistakes, "aria-valuenow": k, "aria-valuetext": `mistake ${k}: ${value}` });
    }
  }

  // The frame of a mistake, by bisection; long runs have fewer frames than mistakes.
  function nearest(k) {
    const { frames } = state.shown.run;
    let [low, high] = [0, frames.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (frames[middle] < k) low = middle + 1;
      else high = middle;
    }
    return low > 0 && k - frames[low - 1] < frames[low] - k ? low - 1 : low;
  }

  for (const [key] of CHARTS) {
    const node = part[`chart-${key}`];
    const follow = (event) => {
      if (!cursors[key]) return;
      const at = Math.round(cursors[key].back(event.clientX - node.getBoundingClientRect().left));
      const { number: passes, end } = state.shown.run.pass;
      page.pause();
      page.go(nearest(charts[key].passes ? end[Math.max(0, passes.findIndex((pass) => pass >= at))] : at));
    };
    node.addEventListener("pointermove", follow);
    node.addEventListener("pointerdown", follow);
    node.addEventListener("keydown", (event) => page.walkKeys(event));
    node.addEventListener("focus", () => drawCursors()); // which says where it is
  }

  return { drawCharts, drawCursors, nearest };
}
