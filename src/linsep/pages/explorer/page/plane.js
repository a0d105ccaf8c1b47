// The plot: points, planes, margin, and the rows that contradict each other.

import { predicted, votedClass, votes } from "../engine/run.js";
import { clip, draw, name, number, put, set, shape, svg, ticks } from "./elements.js";
import { cutOf, onto, rowAt } from "./view.js";

const CELL = 9; // pixels of a grid on which curved borders are looked for
const MOST_VOTES = 6_000_000; // of weights on spots

export function plane(page) {
  const { state, part } = page;
  let scale = null; // data to pixels, also page.scale
  const group = (key, host) => { const made = svg("g", { class: key }); host.append(made); return made; };
  const layer = {}; // from the back to the front; what changes while scrubbing is not in the picture of the points
  for (const key of ["regions", "axes", "widest", "links", "plane"]) layer[key] = group(key, part.back);
  layer.points = group("points", part.plot);
  for (const key of ["marks", "hand"]) layer[key] = group(key, part.front);
  const dots = (page.dots = layer.points.children);

  // ------------------------------------------------------------------------------------- where rows are, and what is seen

  const shownColumns = () => {
    const d = state.rows[0]?.length ?? 2;
    return d <= 2 ? [0, 1] : state.settings.columns ?? null; // null: a projection
  };
  const view = () => state.held ?? state.shown?.view;
  const place = (i) => {
    const columns = shownColumns(), row = state.rows[i];
    if (columns) return columns.map((j) => row[j] ?? 0);
    return view()?.origin.length === row.length ? onto(row, view()) : [0, 0];
  };
  const snapped = (value, step) => Math.round(value / step) * step;
  // The row that is drawn at a spot and is otherwise as `row` is: two columns change, or all by a move within the view.
  function movedTo(row, spot) {
    const columns = shownColumns(), moved = [...row];
    if (columns) columns.forEach((j, axis) => { if (j < row.length) moved[j] = snapped(spot[axis], scale.snap); });
    else {
      const { basis } = view(), from = onto(row, view());
      moved.forEach((v, j) => { moved[j] = snapped(v + basis[0][j] * (spot[0] - from[0]) + basis[1][j] * (spot[1] - from[1]), scale.snap / 16); });
    }
    return moved;
  }
  function newRow(spot) { // what is not seen of it is the mean of the others
    const d = state.rows[0]?.length ?? 2, n = state.rows.length;
    const mean = [...Array(d).keys()].map((j) => (d > 2 ? state.rows.reduce((sum, row) => sum + row[j] / n, 0) : 0));
    return movedTo(mean, spot);
  }

  function fitBox() {
    const all = state.rows.map((_, i) => place(i));
    if (state.settings.fit_intercept === false || all.length < 2 || state.vectors) all.push([0, 0]);
    if (all.length < 3) all.push([-1, -1], [1, 1]);
    if (state.vectors) all.push(...vectorTips());
    const range = (j) => { const v = all.map((p) => p[j]); return [Math.min(...v), Math.max(...v)]; };
    const [[x0, x1], [y0, y1]] = [range(0), range(1)];
    const wide = x1 - x0 || y1 - y0 || 1, high = y1 - y0 || wide / 4;
    const [dx, dy] = [0.14 * wide, 0.14 * high];
    // the buttons lie over the top of the plot: no point starts under them
    state.box = { x0: x0 - dx, x1: x1 + dx, y0: y0 - dy, y1: y1 + 1.6 * dy, equal: state.vectors || Math.max(wide / high, high / wide) < 8 };
  }
  function measure() {
    const width = part.plot.clientWidth || 600, height = part.plot.clientHeight || 440, { x0, x1, y0, y1, equal } = state.box;
    let sx = width / (x1 - x0), sy = height / (y1 - y0);
    if (equal) sx = sy = Math.min(sx, sy);
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const X = (x) => width / 2 + (x - cx) * sx, Y = (y) => height / 2 - (y - cy) * sy;
    const left = cx - width / 2 / sx, right = cx + width / 2 / sx, bottom = cy - height / 2 / sy, top = cy + height / 2 / sy;
    page.scale = scale = {
      width, height, sx, sy, X, Y, left, right, bottom, top, middle: [cx, cy],
      inverse: (px, py) => [cx + (px - width / 2) / sx, cy - (py - height / 2) / sy],
      corners: [[left, bottom], [right, bottom], [right, top], [left, top]],
      snap: 2 ** Math.floor(Math.log2(Math.max(1 / sx, 1 / sy))), // moved points are short binary fractions, and so are proofs
    };
    grid = null;
    for (const picture of [part.back, part.plot, part.front]) set(picture, { viewBox: `0 0 ${width} ${height}` });
  }

  // --------------------------------------------------------------------------------------------------- lines and regions

  const spots = (points) => points.map(([x, y]) => `${scale.X(x).toFixed(2)},${scale.Y(y).toFixed(2)}`).join("L");
  const path = (points) => (points.length ? `M${spots(points)}Z` : "");
  const color = (code) => `c${state.classes.indexOf(state.shown?.classes[code])}`;
  const less = (p, q) => p.map((v, j) => v - q[j]);
  const side = ([a, b, c], [x, y]) => a * x + b * y + c;
  const ring = (i, r, kind) => { const [x, y] = place(i); return ["circle", { cx: scale.X(x), cy: scale.Y(y), r, class: kind }]; };
  const beside = (i, dx, dy) => { const [x, y] = place(i); return ["text", { x: scale.X(x) + dx, y: scale.Y(y) + dy }, name(i)]; };
  function ends([a, b, c]) { // of a plane as a line across the picture
    const found = Math.abs(a) * scale.sy > Math.abs(b) * scale.sx
      ? [scale.bottom, scale.top].map((y) => [-(b * y + c) / a, y]) : [scale.left, scale.right].map((x) => [x, -(a * x + c) / b]);
    return found.flat().every(Number.isFinite) ? found : null;
  }
  const cut = (plane) => { const found = ends(plane); return found ? `M${spots(found)}` : ""; };
  // Where the classes c and r both score highest: a piece of a line.
  function border(planes, c, r) {
    let [p, q] = ends(less(planes[c], planes[r])) ?? [];
    for (let o = 0; p && o < planes.length; o++) {
      if (o === c || o === r) continue;
      const lead = less(planes[c], planes[o]), s = side(lead, p), t = side(lead, q);
      if (s < 0 && t < 0) return "";
      const between = p.map((v, j) => v + (q[j] - v) * s / (s - t));
      if (s < 0) p = between;
      else if (t < 0) q = between;
    }
    return p ? `M${spots([p, q])}` : "";
  }
  const borders = (planes) => planes.map((_, c) => planes.slice(0, c).map((_, r) => border(planes, c, r)).join("")).join("");
  const lines = (planes) => (planes.length === 1 ? cut(planes[0]) : borders(planes));
  const won = (planes, c, by = 0) => planes.reduce((left, rival, r) => {
    const [a, b, lead] = less(planes[c], rival);
    return r === c ? left : clip(left, [a, b, lead - by]);
  }, scale.corners);
  // Weights of a run as they cut the view, one plane a machine.
  function planesOf(w) {
    const { run, view: seen } = state.shown, size = run.width + 1;
    return Array.from({ length: run.machines }, (_, c) => cutOf(Array.from(w.slice(c * size, (c + 1) * size)), seen));
  }
  const drawnPlanes = (w) => w.map((plane) => cutOf(plane, state.shown.view));

  // ------------------------------------------------------------------------------------- curved borders, found on a grid

  let grid = null; // spots across the picture, with the scores of weights at each
  function spotsOfGrid(cell = CELL) {
    if (grid?.cell === cell && grid.space === state.shown.space) return grid;
    const across = Math.ceil(scale.width / cell) + 1, up = Math.ceil(scale.height / cell) + 1, scores = [];
    for (let r = 0; r < up; r++) for (let c = 0; c < across; c++) scores.push(state.shown.space.scores(rowAt(scale.inverse(c * cell, r * cell), state.shown.view)));
    grid = { cell, across, up, scores, space: state.shown.space };
    return grid;
  }
  // The zero line of values on the grid (marching squares), in pixels.
  function zeroLine(values, { cell, across, up }) {
    let d = "";
    const between = (p, q, s, t) => { const f = s / (s - t); return [p[0] + (q[0] - p[0]) * f, p[1] + (q[1] - p[1]) * f]; };
    for (let r = 0; r + 1 < up; r++) for (let c = 0; c + 1 < across; c++) {
      const at = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]], v = at.map(([x, y]) => values[y * across + x]), crossings = [];
      for (let e = 0; e < 4; e++) if (v[e] > 0 !== v[(e + 1) % 4] > 0) crossings.push(between(at[e], at[(e + 1) % 4], v[e], v[(e + 1) % 4]));
      for (let e = 0; e + 1 < crossings.length; e += 2) d += `M${crossings[e].map((x) => (x * cell).toFixed(1))}L${crossings[e + 1].map((x) => (x * cell).toFixed(1))}`;
    }
    return d;
  }
  // The cells of each class as one path of rows of boxes.
  function cellsOf(codes, classes, { cell, across, up }) {
    const paths = Array(classes).fill("");
    for (let r = 0; r < up; r++) for (let c = 0; c < across;) {
      let end = c;
      while (end < across && codes[r * across + end] === codes[r * across + c]) end++;
      paths[codes[r * across + c]] += `M${(c - 0.5) * cell},${(r - 0.5) * cell}h${(end - c) * cell}v${cell}h${-(end - c) * cell}Z`;
      c = end;
    }
    return paths;
  }
  function curved(w) { // borders and regions of weights in a space that is not the picture's
    const { run, settings } = state.shown, found = spotsOfGrid(), size = run.width + 1, { machines } = run;
    const scores = found.scores.map((score) => Array.from({ length: machines }, (_, c) => score(w, c * size) + w[c * size + run.width]));
    const leads = (c) => scores.map((s) => s[c] - Math.max(...s.filter((_, r) => r !== c)));
    const codes = found.scores.map((score) => predicted(run, score, w, settings.on_plane));
    const line = machines === 1 ? zeroLine(scores.map(([s]) => s), found) : Array.from({ length: machines }, (_, c) => zeroLine(leads(c), found)).join("");
    return { line, regions: cellsOf(codes, Math.max(2, machines), found) };
  }
  function votedLine() { // where the vote changes its mind
    const { run, settings } = state.shown, coarse = Math.max(CELL, Math.ceil(Math.sqrt((scale.width * scale.height * (run.mistakes + 1)) / MOST_VOTES)));
    const found = spotsOfGrid(coarse);
    const taken = found.scores.map((score) => votes(run, score, settings.on_plane, run.weightsAt));
    const values = (c) => taken.map((v) => (run.machines === 1 ? v[0] || settings.on_plane : (votedClass(run, v) === c ? 1 : -1)));
    return Array.from({ length: run.machines }, (_, c) => zeroLine(values(c), found)).join("");
  }

  // ------------------------------------------------------------------------------------------------------ what stays still

  function drawPlot() {
    measure();
    drawAxes();
    const held = part.plot.getRootNode().activeElement?.dataset?.point; // a point that has the focus hands it on
    while (dots.length > state.rows.length) layer.points.lastChild.remove();
    while (dots.length < state.rows.length) layer.points.append(svg("g", { role: "button" }, svg("circle", { r: 16, class: "reach" }), svg("path"), svg("text")));
    counts = new Uint32Array(state.rows.length);
    counted = 0;
    countMistakes();
    state.rows.forEach((_, i) => drawPoint(i));
    set(part.plot, { tabindex: dots.length ? -1 : 0 }); // the way in for the first point
    if (held >= dots.length) dots[state.chosen]?.focus({ preventScroll: true });
    drawWidest();
    drawLinks();
    kept = null;
  }
  function drawAxes() {
    const { width, height, X, Y } = scale, [across, up] = state.shown?.view.axes ?? ["", ""], wanted = [];
    const kind = (value) => (value === 0 ? "zero" : "tick");
    for (const x of ticks(scale.left, scale.right, width / 110)) wanted.push(["line", { x1: X(x), x2: X(x), y1: 0, y2: height, class: kind(x) }]);
    for (const y of ticks(scale.bottom, scale.top, height / 90)) wanted.push(["line", { y1: Y(y), y2: Y(y), x1: 0, x2: width, class: kind(y) }]);
    const text = (x, y, words, kind = "", anchor = "start") => wanted.push(["text", { x, y, class: kind, "text-anchor": anchor }, words]);
    for (const x of ticks(scale.left, scale.right, width / 110)) if (X(x) < width - 40 - 8 * across.length) text(X(x) + 4, height - 6, number(x, 3)); // before its name
    for (const y of ticks(scale.bottom, scale.top, height / 90)) if (Y(y) > 34 && Y(y) < height - 18) text(6, Y(y) - 4, number(y, 3)); // below the name of the axis
    text(width - 8, height - 6, across, "axis", "end");
    text(6, 16, up, "axis");
    draw(layer.axes, wanted);
  }
  const few = () => state.rows.length <= 12; // each point can have its name beside it
  const size = (i) => {
    const common = state.rows.length > 300 ? 3.5 : state.rows.length > 80 ? 5 : 6.5;
    return common * (1 + 0.9 * Math.sqrt((counts[i] ?? 0) / most));
  };
  let most = 1; // mistakes on any row
  function drawPoint(i) {
    const { codes, flipped, test, classes } = state.shown ?? {}, fits = codes?.length === state.rows.length;
    const label = fits ? classes[codes[i]] : state.labels[i], code = state.classes.indexOf(label), [x, y] = place(i), [cx, cy] = [scale.X(x), scale.Y(y)];
    const [reach, body, text] = dots[i].children;
    const attributes = {
      class: `point c${code}${fits && test[i] ? " held-out" : ""}${fits && flipped[i] ? " noisy" : ""}`, "data-point": i, tabindex: i === state.chosen ? 0 : -1,
      "aria-label": `${name(i)}, label ${label}, at ${number(x)}, ${number(y)}`,
    };
    for (const key in attributes) if (dots[i].getAttribute(key) !== String(attributes[key])) dots[i].setAttribute(key, attributes[key]);
    set(reach, { cx, cy });
    set(body, { d: shape(code, cx, cy, size(i)) });
    if (few() || text.textContent) { set(text, { x: cx + 15, y: cy - 14 }); put(text, few() ? name(i) : ""); }
  }

  function drawWidest() {
    const { theory, linear, view: seen } = state.shown ?? {}, margin = theory?.drawn, wanted = [];
    if (theory?.rest && linear) {
      theory.rest.forEach((one, c) => { if (one.drawn) wanted.push(["path", { d: cut(cutOf(one.drawn.w[0], seen)), class: `u own ${color(c)}` }]); });
    } else if (margin && linear) {
      const planes = drawnPlanes(margin.w), by = margin.margin;
      if (planes.length === 1) {
        const [a, b, c] = planes[0];
        const band = clip(clip(scale.corners, [a, b, c + by]), [-a, -b, by - c]);
        wanted.push(["path", { d: path(band), class: "band" }], ["path", { d: cut(planes[0]), class: "u" }]);
      } else {
        planes.forEach((_, c) => wanted.push(["path", { d: path(won(planes, c)) + path(won(planes, c, by)), class: "band" }]));
        wanted.push(["path", { d: borders(planes), class: "u" }]);
      }
    } else if (margin) wanted.push(["path", { d: curved(flat(margin.w)).line, class: "u" }]);
    if (margin) for (const i of margin.support) if (i < state.rows.length) wanted.push(ring(i, 11, "support"));
    draw(layer.widest, wanted);
  }
  const flat = (w) => Float64Array.from(w.flat());
  function drawLinks() { // rows that contradict each other: the hulls of the two classes meet
    const { theory, run, classes, codes, linear } = state.shown ?? {}, verdict = theory?.verdict, core = verdict?.core, wanted = [];
    if (core && linear && core.every(({ row }) => row < state.rows.length)) {
      if (verdict.direction && run.machines === 1) wanted.push(["path", { d: cut(cutOf(weakWeights(verdict.direction, run), state.shown.view)), class: "weak" }]);
      const groups = new Map(), apart = run.offset && classes.length === 2, rowsOnce = [...new Set(core.map(({ row }) => row))];
      for (const row of rowsOnce) {
        const key = apart ? codes[row] : -1;
        groups.set(key, [...(groups.get(key) ?? []), row]);
      }
      for (const [key, rows] of groups) {
        const corners = rows.map(place), [mx, my] = [0, 1].map((j) => corners.reduce((sum, p) => sum + p[j], 0) / corners.length);
        corners.sort((p, q) => Math.atan2(p[1] - my, p[0] - mx) - Math.atan2(q[1] - my, q[0] - mx));
        wanted.push(["path", { d: path(corners), class: `link ${key < 0 ? "c-1" : color(key)}` }]);
      }
      const all = rowsOnce.map(place), [mx, my] = [0, 1].map((j) => all.reduce((sum, p) => sum + p[j], 0) / all.length);
      rowsOnce.forEach((row, i) => { // names away from the middle, where there is room
        const dx = (all[i][0] - mx) * scale.sx, dy = (my - all[i][1]) * scale.sy, far = Math.hypot(dx, dy) || 1;
        const [kind, spot, words] = beside(row, (dx / far) * 17 || 17, (dy / far) * 17 + 5);
        wanted.push(ring(row, 13, "refuting"), ...(few() ? [] : [[kind, { ...spot, "text-anchor": dx < 0 ? "end" : "start" }, words]]));
      });
    } else if (core) for (const { row } of core) if (row < state.rows.length) wanted.push(ring(row, 13, "refuting"));
    const fewest = theory?.fewest;
    if (fewest) { // the plane with the fewest errors, and the points that are in its way
      if (fewest.w) wanted.push(["path", { d: linear ? lines(drawnPlanes(fewest.w)) : curved(flat(fewest.w)).line, class: "fewest", "data-part": "fewest-plane" }]);
      for (const i of fewest.rows.filter((row) => row < state.rows.length)) {
        const [x, y] = place(i), [px, py] = [scale.X(x), scale.Y(y)];
        wanted.push(["path", { d: `M${px - 12},${py - 12}L${px + 12},${py + 12}M${px - 12},${py + 12}L${px + 12},${py - 12}`, class: "suspect" }]);
      }
    }
    draw(layer.links, wanted);
  }
  function weakWeights(direction, run) { // exact weights as floats, offset last
    const size = direction.reduce((most, v) => (v < 0n ? (-v > most ? -v : most) : v > most ? v : most), 1n), w = direction.map((v) => Number((v * 1_000_000_000_000n) / size));
    return run.offset ? w : [...w, 0];
  }

  // ----------------------------------------------------------------------------- what changes from mistake to mistake: little

  let counts = new Uint32Array(0), counted = 0; // mistakes on each row after `counted` mistakes
  function countMistakes() {
    const run = state.shown?.run, k = run ? state.k : 0, changed = new Set();
    most = Math.max(1, run?.counts.reduce((a, b) => Math.max(a, b), 0) ?? 1);
    for (; run && counted < k; counted++) { counts[run.trace[counted]]++; changed.add(run.trace[counted]); }
    for (; run && counted > k; counted--) { counts[run.trace[counted - 1]]--; changed.add(run.trace[counted - 1]); }
    return changed;
  }
  function drawMoment() {
    const run = state.shown?.run, visits = state.by === "visit";
    part.slider.max = page.steps();
    part.slider.value = page.present();
    const text = run ? (visits ? `visit ${state.at} of ${run.visits.length}` : `mistake ${state.k} of ${run.mistakes}`) : "–", marks = [];
    put(part.moment, text);
    if (part.slider.getAttribute("aria-valuetext") !== text) part.slider.setAttribute("aria-valuetext", text);
    if (!run) { for (const key of ["regions", "plane", "marks"]) draw(layer[key], []); return; }
    const w = run.weightsAt(state.k);
    if (state.shown.linear) drawPlanes(planesOf(w), run.apart);
    else drawCurved(w);
    for (const i of countMistakes()) if (dots[i]) drawPoint(i);
    const row = visits ? run.visits[state.at - 1] : run.trace[state.k - 1], mistaken = !visits || run.at[state.k - 1] === state.at;
    if (row !== undefined && row < state.rows.length) {
      const named = few() || state.shown.theory?.verdict?.core?.some((one) => one.row === row);
      marks.push(ring(row, 19, mistaken ? "current" : "current right"), ...(named ? [] : [beside(row, 21, 5)]));
    }
    const { keep } = state.shown.settings;
    if (state.k === run.mistakes && keep !== "last") {
      kept ??= keep === "vote" ? votedLine() : state.shown.linear ? lines(planesOf(run.kept)) : curved(run.kept).line;
      marks.push(["path", { d: kept, class: `kept${keep === "vote" ? " vote" : ""}`, "data-part": "kept" }]);
    }
    if (state.vectors) marks.push(...vectors());
    draw(layer.marks, marks);
    if (outside() !== wasOutside) { wasOutside = outside(); page.drawTools(); }
  }
  let wasOutside = false, kept = null;
  function outside() { // whether the plane does not cut the view; regions of several classes always have borders somewhere
    if (!state.shown?.run || !scale || !state.shown.linear || state.shown.run.machines > 1) return false;
    const [plane] = planesOf(state.shown.run.weightsAt(state.k));
    if (plane[0] === 0 && plane[1] === 0) return false;
    const sides = scale.corners.map((corner) => side(plane, corner));
    return Math.min(...sides) > 0 || Math.max(...sides) < 0;
  }
  function drawCurved(w) {
    const some = w.some((v) => v !== 0), found = some && curved(w);
    draw(layer.regions, some ? found.regions.map((d, c) => ["path", { d, class: `region ${color(c)}` }]) : []);
    draw(layer.plane, some ? [["path", { d: found.line, class: "w", "data-part": "plane" }]] : []);
  }
  function drawPlanes(planes, apart) {
    const some = planes.flat().some((v) => v !== 0);
    const both = planes.length > 1 ? planes : [[0, 0, 0], planes[0]]; // of two classes the second has the score, the first none
    draw(layer.regions, some ? both.map((_, c) => ["path", { d: path(won(both, c)), class: `region ${color(c)}` }]) : []);
    if (planes.length > 1) {
      const own = planes.map((plane, c) => ["path", { d: cut(plane), class: `w own ${color(c)}` }]);
      draw(layer.plane, some ? [...(apart ? own : []), ["path", { d: borders(planes), class: apart ? "w faint" : "w", "data-part": "plane" }]] : []);
      return;
    }
    const [a, b] = planes[0];
    draw(layer.plane, Math.hypot(a, b) ? [["path", { d: cut(planes[0]), class: "w", "data-part": "plane" }], ...(state.vectors ? [] : normal(planes[0], "arrow", "head", "w"))] : []);
  }
  // An arrow from the middle of a plane to its positive side.
  function normal([a, b, c], line, head, text) {
    const length = Math.hypot(a, b), mx = (scale.left + scale.right) / 2, my = (scale.bottom + scale.top) / 2, away = (a * mx + b * my + c) / length ** 2;
    let dx = a * scale.sx, dy = -b * scale.sy;
    const long = Math.hypot(dx, dy), reach = 0.13 * Math.min(scale.width, scale.height);
    [dx, dy] = [dx / long, dy / long];
    const inside = (value, most) => Math.min(most - 20, Math.max(20, value));
    const x = inside(scale.X(mx - a * away), scale.width), y = inside(scale.Y(my - b * away), scale.height), [tx, ty] = [x + dx * reach, y + dy * reach];
    return [["path", { class: line, d: `M${x},${y}L${tx},${ty}` }], ["path", { class: head, d: tipAt(tx + dx * 9, ty + dy * 9, dx, dy) }], ...(text ? [["text", { x: tx + dx * 20 - 5, y: ty + dy * 20 + 5 }, text]] : [])];
  }
  const tipAt = (x, y, dx, dy) => `M${x},${y}L${x - dx * 10 - dy * 5},${y - dy * 10 + dx * 5}L${x - dx * 10 + dy * 5},${y - dy * 10 - dx * 5}Z`;
  // A vector of the data's own units, from one spot to another.
  function vector(from, to, kind, text) {
    const [p, q] = [from, to].map(([x, y]) => [scale.X(x), scale.Y(y)]), long = Math.hypot(q[0] - p[0], q[1] - p[1]);
    if (long < 1) return [];
    const [dx, dy] = [(q[0] - p[0]) / long, (q[1] - p[1]) / long];
    return [["path", { class: `vector ${kind}`, d: `M${p}L${q[0] - dx * 6},${q[1] - dy * 6}` }], ["path", { class: `vector-head ${kind}`, d: tipAt(...q, dx, dy) }], ["text", kind === "step" ? { x: (p[0] + q[0]) / 2 - dy * 12, y: (p[1] + q[1]) / 2 + dx * 12 + 4, class: kind, "text-anchor": dy > 0 ? "end" : "start" } : { x: q[0] + dx * 10, y: q[1] + dy * 10 + 4, class: kind, "text-anchor": dx < -0.3 ? "end" : "start" }, text]];
  }
  // w before the last mistake, η y x at its tip, and their sum, all from the origin of the two columns.
  function vectors() {
    const { run, linear, codes } = state.shown;
    if (run.machines > 1 || !linear || run.width !== 2) return [];
    const after = run.weightsAt(state.k), before = run.weightsAt(Math.max(0, state.k - 1)), row = run.trace[state.k - 1], tip = (w) => [w[0], w[1]];
    if (!state.k) return vector([0, 0], tip(after), "w-now", "w");
    const [x, y] = place(row), sign = codes[row] ? run.eta : -run.eta;
    return [
      ...vector([0, 0], [sign * x, sign * y], "step faint", ""), ...vector([0, 0], tip(before), "w-before", "w"),
      ...vector(tip(before), tip(after), "step", run.eta === 1 ? "y x" : "η y x"), ...vector([0, 0], tip(after), "w-now", "w + y x"),
    ];
  }
  function vectorTips() {
    const { run, linear } = state.shown ?? {};
    if (!run || run.machines > 1 || !linear || run.width !== 2) return [];
    return [state.k, Math.max(0, state.k - 1)].map((k) => Array.from(run.weightsAt(k).slice(0, 2)));
  }

  return { shownColumns, place, movedTo, newRow, fitBox, drawPlot, drawPoint, drawMoment, outside, planesOf, cut, normal, layer, mistakesOn: (i) => counts[i] ?? 0 };
}
