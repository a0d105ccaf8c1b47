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

  // For each chart: its lines {x, y, kind}; `value` says it in numbers after i mistakes, in pass p; `upright` marks the bound,
  // `level` the margin; nothing is drawn beyond `reach`; `passes` if its axis counts passes instead of mistakes.
  function chartData() {
    const { run, steps, growth } = state.shown ?? {}, running = growth?.running;
    if (!run) return {};
    const k = Array.from({ length: run.mistakes + 1 }, (_, t) => t), passes = run.passes.map((_, p) => p + 1), most = Math.max(4, run.mistakes), each = (what) => run.passes.map(what);
    const far = steps && steps.limit > 12 * most; // the bound is too far away to be seen on the same axis
    const bound = steps && { upright: { x: steps.limit, label: `bound ${number(steps.limit)}`, far }, reach: far ? 2 * most : Infinity };
    const tested = run.held.length > 0, share = (errors) => errors / run.used.length;
    const found = {
      loss: { passes, lines: [{ x: passes, y: each(({ loss }) => loss), kind: "w" }], value: (_, p) => number(run.passes[p]?.loss) },
      errors: tested
        ? {
          passes, top: 0.05, lines: [{ x: passes, y: each(({ errors }) => share(errors)), kind: "upper" }, { x: passes, y: each(({ test }) => test), kind: "w" }],
          value: (_, p) => `training ${percent(share(run.passes[p]?.errors))}, test ${percent(run.passes[p]?.test)}`,
        }
        : {
          passes, lines: [{ x: passes, y: each(({ mistakes }) => mistakes), kind: "w" }, { x: passes, y: each(({ errors }) => errors), kind: "upper" }],
          value: (_, p) => `${run.passes[p]?.mistakes ?? 0} made, ${run.passes[p]?.errors ?? 0} wrong`,
        },
    };
    if (growth) {
      found.growth = {
        lines: [{ x: k, y: growth.growth, kind: "w" }, { x: k, y: growth.growthBound, kind: "upper" }], value: (i) => `${number(growth.growth[i])} ≤ ${number(growth.growthBound[i])}`,
      };
      found.running = {
        lines: [{ x: k, y: running, kind: "w" }], level: steps && { y: steps.margin, label: "γ" }, log: true,
        value: (i) => (running[i] == null ? "∞" : `${steps ? `${number(steps.margin)} ≤ ` : ""}${number(running[i])}`),
      };
    }
    if (!steps) return found;
    const root = (values) => values.map((v) => (v == null ? null : Math.sqrt(v))), norm = root(steps.growth), normBound = root(steps.growthBound);
    const known = far ? { k, progress: steps.progressBound, growth: steps.growthBound, cosine: steps.cosineBound } : curve(steps, run); // up to the last mistake, or up to the bound
    Object.assign(found.growth, bound, { lines: [{ x: k, y: growth.growth, kind: "w" }, { x: known.k, y: known.growth, kind: "upper" }] });
    found.squeeze = {
      ...bound,
      lines: [
        { x: known.k, y: known.progress, kind: "u" }, { x: known.k, y: root(known.growth), kind: "upper" },
        { x: k, y: steps.progress, kind: "w thin" }, { x: k, y: norm, kind: "w" },
      ],
      value: (i) => [steps.progressBound, steps.progress, norm, normBound].map((v) => number(v[i], 3)).join(" ≤ "),
    };
    found.cosine = {
      ...bound, lines: [{ x: known.k, y: known.cosine, kind: "u" }, { x: k, y: steps.cosine, kind: "w" }], top: 1,
      value: (i) => (steps.cosine[i] == null ? "–" : `${number(steps.cosine[i])} ≥ ${number(steps.cosineBound[i])}`),
    };
    return found;
  }
  const percent = (share) => (share == null || Number.isNaN(share) ? "–" : `${number(100 * share, 3)} %`);
  function curve(steps, run) { // the bounds as curves, to a little beyond where they meet
    const k = Array.from({ length: 80 }, (_, t) => (t / 79) * 1.02 * Math.max(steps.limit, run.mistakes, 1));
    const progress = k.map((t) => steps.start + t * run.eta * steps.margin), growth = k.map((t) => steps.square + t * steps.step);
    return { k, progress, growth, cosine: k.map((_, i) => Math.max(-1, Math.min(1, progress[i] / Math.sqrt(Math.max(growth[i], 1e-300))))) };
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
    const { theory, run, space } = state.shown ?? {}, figure = node.closest("figure");
    part[`cursor-${key}`].hidden = !data;
    figure.hidden = !data && Boolean(space?.kernel || theory); // what there is nothing to say about
    if (figure.hidden) return;
    if (!data) {
      node.append(text(width / 2, height / 2, "middle", run ? "…" : "–", "none"));
      put(part[`chartValue-${key}`], "\u00a0");
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
    const spread = positive.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, 0]), log = data.log && positive.length > 1 && spread[1] / spread[0] > 30;
    const f = log ? (y) => Math.log10(Math.max(y, 1e-12)) : (y) => y;
    const largest = (values, least) => values.reduce((a, b) => Math.max(a, b), least), smallest = (values, most) => values.reduce((a, b) => Math.min(a, b), most);
    const x0 = data.passes ? 1 : 0, x1 = largest(xs, x0 + 1);
    const y0 = log ? f(spread[0]) - 0.1 : smallest(ys, 0);
    const y1 = log ? f(spread[1]) + 0.1 : largest(ys, data.top ?? 0) || 1;
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
    const { k } = state, found = run.passes.findIndex(({ to }) => to >= state.at), p = found < 0 ? run.passes.length - 1 : found;
    for (const [key] of CHARTS) {
      if (!cursors[key]) continue;
      const { X } = cursors[key], x = X(charts[key].passes ? p + 1 : k), value = charts[key].value(k, p);
      part[`cursor-${key}`].style.transform = `translateX(${x - 1}px)`;
      put(part[`chartValue-${key}`], value);
      const node = part[`chart-${key}`]; // only the one that is listened to says where it is
      if (node.matches(":focus")) set(node, { "aria-valuemax": run.mistakes, "aria-valuenow": k, "aria-valuetext": `mistake ${k}: ${value}` });
    }
  }

  for (const [key] of CHARTS) {
    const node = part[`chart-${key}`];
    const follow = (event) => {
      if (!cursors[key]) return;
      const at = Math.round(cursors[key].back(event.clientX - node.getBoundingClientRect().left));
      const { passes } = state.shown.run;
      page.pause();
      page.goMistake(charts[key].passes ? passes[Math.max(0, Math.min(passes.length, at) - 1)].end : at);
    };
    node.addEventListener("pointermove", follow);
    node.addEventListener("pointerdown", follow);
    node.addEventListener("keydown", (event) => page.walkKeys(event));
    node.addEventListener("focus", () => drawCursors()); // which says where it is
  }

  return { drawCharts, drawCursors };
}
