// Weight space: every point halves it, the weights that are right about all points are a cone, and w walks toward it.

import { clip, draw, number, put, set, svg, ticks } from "./elements.js";

const MOST_STEPS = 400; // of the path that are drawn

export function weighing(page) {
  const { state, part } = page, layer = {};
  for (const key of ["grid", "lines", "cone", "path", "arrows"]) { layer[key] = svg("g", { class: key }); part.weights.append(layer[key]); }

  // Two directions of weight space {at(w) → [s, t], half(i, w) → [a, b, c], axes}, null where there are none to show.
  function plane() {
    const { run, linear, view, space, codes, names } = state.shown ?? {};
    if (!run || run.machines > 1 || space.kernel) return null;
    const total = run.width + run.offset, sign = (i) => (codes[i] ? 1 : -1);
    if (run.width === 1 && run.offset) return { axes: [`w(${names[0]})`, "b"], said: "", at: (w) => [w[0], w[1]], half: (i) => [sign(i) * space.rows[i][0], sign(i), 0], step: (i) => [sign(i) * space.rows[i][0], sign(i)] };
    if (run.width === 1) return null;
    if (run.width === 2 || !linear) { // the first two columns; the other weights are as they are now
      const rest = (i, w) => { let sum = w[run.width]; for (let j = 2; j < run.width; j++) sum += w[j] * space.rows[i][j]; return sum; };
      const said = total === 2 ? "" : run.width === 2 ? "a slice, at the present offset b" : "a slice: the other weights as they are now";
      const x = (i) => space.rows[i];
      return { axes: [`w(${names[0]})`, `w(${names[1]})`], said, at: (w) => [w[0], w[1]], half: (i, w) => [sign(i) * x(i)[0], sign(i) * x(i)[1], sign(i) * rest(i, w)], step: (i) => [sign(i) * x(i)[0], sign(i) * x(i)[1]] };
    }
    const { basis } = view, along = (v) => basis.map((axis) => axis.reduce((sum, a, j) => sum + a * v[j], 0));
    return {
      axes: ["w along the view", "across it"], said: "a slice along the two directions of the picture", at: along, step: (i) => along(space.rows[i]).map((v) => sign(i) * v),
      half: (i, w) => {
        const [a, b] = along(space.rows[i]), [s, t] = along(w), score = space.dot(i, w, 0) + w[run.width];
        return [sign(i) * a, sign(i) * b, sign(i) * (score - a * s - b * t)];
      },
    };
  }

  let seen = null; // of a run: the directions, and the picture's frame
  function frame(run, directions) {
    const width = part.weights.clientWidth || 320, height = part.weights.clientHeight || 220, every = Math.max(1, Math.ceil(run.mistakes / MOST_STEPS)), path = [];
    for (let k = 0; k <= run.mistakes; k += every) path.push([k, directions.at(run.weightsAt(k))]);
    if (path.at(-1)[0] < run.mistakes) path.push([run.mistakes, directions.at(run.weightsAt(run.mistakes))]);
    const spots = [[0, 0], ...path.map(([, spot]) => spot)], range = (j) => spots.reduce(([a, b], p) => [Math.min(a, p[j]), Math.max(b, p[j])], [0, 0]);
    const [[x0, x1], [y0, y1]] = [range(0), range(1)], size = Math.max(x1 - x0, y1 - y0) || 2;
    const zoom = Math.min(width / (1.3 * Math.max(x1 - x0, 0.35 * size)), height / (1.4 * Math.max(y1 - y0, 0.35 * size))), cx = (x0 + x1) / 2, cy = (y0 + y1) / 2; // the same on both axes: true lengths
    const X = (x) => width / 2 + (x - cx) * zoom, Y = (y) => height / 2 - (y - cy) * zoom, [left, right] = [cx - width / 2 / zoom, cx + width / 2 / zoom], [bottom, top] = [cy - height / 2 / zoom, cy + height / 2 / zoom];
    set(part.weights, { viewBox: `0 0 ${width} ${height}` });
    return { run, directions, path, X, Y, width, height, left, right, bottom, top, corners: [[left, bottom], [right, bottom], [right, top], [left, top]] };
  }

  function drawWeights() {
    const directions = plane(), run = state.shown?.run;
    part.weightsBox.hidden = !directions;
    if (!directions) { seen = null; return; }
    if (seen?.run !== run || seen.width !== part.weights.clientWidth) { seen = frame(run, directions); drawGrid(); }
    const w = run.weightsAt(state.k), { X, Y, corners } = seen, at = ([x, y]) => `${X(x).toFixed(1)},${Y(y).toFixed(1)}`;
    const visited = state.by === "visit" ? run.visits[state.at - 1] : run.trace[state.k - 1];
    let cone = corners, lines = "", current = "";
    for (const i of run.used) {
      const half = directions.half(i, w), [a, b, c] = half;
      if (!a && !b) { if (c <= 0) cone = []; continue; }
      cone = clip(cone, half);
      const ends = Math.abs(a) > Math.abs(b) ? [seen.bottom, seen.top].map((y) => [-(b * y + c) / a, y]) : [seen.left, seen.right].map((x) => [x, -(a * x + c) / b]);
      const d = `M${at(ends[0])}L${at(ends[1])}`;
      if (i === visited) current = d;
      else lines += d;
    }
    draw(layer.lines, [["path", { d: lines, class: "constraint" }], ["path", { d: current, class: "constraint current" }]]);
    draw(layer.cone, [["path", { d: cone.length > 2 ? `M${cone.map(at).join("L")}Z` : "", class: "version", "data-part": "cone" }]]);
    const done = seen.path.filter(([k]) => k <= state.k).map(([, spot]) => spot), now = directions.at(w);
    draw(layer.path, [["path", { d: `M${[...done, now].map(at).join("L")}`, class: "walk-of-w" }]]);
    const arrows = [];
    if (state.k) {
      const before = directions.at(run.weightsAt(state.k - 1)), [dx, dy] = directions.step(run.trace[state.k - 1]).map((v) => v * run.eta);
      arrows.push(...arrow([0, 0], before, "before", ""), ...arrow(before, [before[0] + dx, before[1] + dy], "step", run.eta === 1 ? "y x" : "η y x"));
    }
    draw(layer.arrows, [...arrows, ...arrow([0, 0], now, "now", "w"), ["circle", { cx: X(now[0]), cy: Y(now[1]), r: 4, class: "dot" }]]);
    const empty = cone.length > 2 ? "" : directions.said ? "in it no weights are right about every point" : "no weights in the picture are right about every point";
    put(part.slice, [directions.said, empty].filter(Boolean).join("; "));
    part.weightsBox.dataset.cone = cone.length > 2 ? "there" : "empty";
  }
  function arrow(from, to, kind, text) {
    const { X, Y } = seen, p = [X(from[0]), Y(from[1])], q = [X(to[0]), Y(to[1])], long = Math.hypot(q[0] - p[0], q[1] - p[1]);
    if (long < 2) return [];
    const [dx, dy] = [(q[0] - p[0]) / long, (q[1] - p[1]) / long], wing = (side) => [q[0] - dx * 9 - side * dy * 4.5, q[1] - dy * 9 + side * dx * 4.5];
    return [["path", { class: `ray ${kind}`, d: `M${p}L${q[0] - dx * 6},${q[1] - dy * 6}` }], ["path", { class: `head-of ${kind}`, d: `M${q}L${wing(1)}L${wing(-1)}Z` }],
      ...(text ? [["text", kind === "step" ? { x: (p[0] + q[0]) / 2 - dy * 12, y: (p[1] + q[1]) / 2 + dx * 12 + 4, class: kind, "text-anchor": dy > 0 ? "end" : "start" } : { x: q[0] + dx * 11 - 4, y: q[1] + dy * 11 + 4, class: kind }, text]] : [])];
  }
  function drawGrid() {
    const { X, Y, width, height, left, right, bottom, top, directions: { axes } } = seen, wanted = [];
    for (const x of ticks(left, right, width / 90)) wanted.push(["line", { x1: X(x), x2: X(x), y1: 0, y2: height, class: x ? "tick" : "zero" }], ["text", { x: X(x) + 3, y: height - 4 }, number(x, 3)]);
    for (const y of ticks(bottom, top, height / 60)) wanted.push(["line", { y1: Y(y), y2: Y(y), x1: 0, x2: width, class: y ? "tick" : "zero" }], ...(Y(y) < height - 16 && Y(y) > 28 ? [["text", { x: 4, y: Y(y) - 3 }, number(y, 3)]] : []));
    wanted.push(["text", { x: width - 6, y: height - 16, "text-anchor": "end", class: "axis" }, axes[0]], ["text", { x: 4, y: 14, class: "axis" }, axes[1]]);
    draw(layer.grid, wanted);
  }
  return { drawWeights };
}
