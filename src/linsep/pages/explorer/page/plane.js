// The plot: points, planes, margin, and the rows that contradict each other.

import { clip, draw, name, number, put, set, shape, svg, ticks } from "./elements.js";

export function plane(page) {
  const { state, part, line } = page;
  let scale = null; // data to pixels, also page.scale
  const group = (key, host) => { const made = svg("g", { class: key }); host.append(made); return made; };
  const layer = {}; // from the back to the front; what changes while scrubbing is not in the picture of the points
  for (const key of ["regions", "axes", "widest", "links", "plane"]) layer[key] = group(key, part.back);
  layer.points = group("points", part.plot);
  layer.marks = group("marks", part.front);
  const dots = (page.dots = layer.points.children);

  // ------------------------------------------------------------------------------------- where rows are, and what is seen

  const shownColumns = () => {
    const d = state.rows[0]?.length ?? 2;
    return d <= 2 ? [0, 1] : state.settings.columns; // null: a projection
  };
  const view = () => state.held ?? state.shown?.view;
  const onto = (row, { origin, basis }) => basis.map((axis) => axis.reduce((sum, v, j) => sum + v * (row[j] - origin[j]), 0));
  const place = (i) => {
    const columns = shownColumns(), row = state.rows[i];
    if (columns) return columns.map((j) => row[j] ?? 0);
    return view()?.basis?.[0].length === row.length ? onto(row, view()) : [0, 0];
  };
  const editable = () => !line.replay && (shownColumns() !== null || view()?.basis !== undefined);
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
    if (state.settings.fit_intercept === false || all.length < 2) all.push([0, 0]);
    if (all.length < 3) all.push([-1, -1], [1, 1]);
    const range = (j) => { const v = all.map((p) => p[j]); return [Math.min(...v), Math.max(...v)]; };
    const [[x0, x1], [y0, y1]] = [range(0), range(1)];
    const wide = x1 - x0 || y1 - y0 || 1, high = y1 - y0 || wide / 4;
    const [dx, dy] = [0.14 * wide, 0.14 * high];
    // the buttons lie over the top of the plot: no point starts under them
    state.box = { x0: x0 - dx, x1: x1 + dx, y0: y0 - dy, y1: y1 + 1.6 * dy, equal: Math.max(wide / high, high / wide) < 8 };
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
    for (const picture of [part.back, part.plot, part.front]) set(picture, { viewBox: `0 0 ${width} ${height}` });
  }

  // --------------------------------------------------------------------------------------------------- lines and regions

  const spots = (points) => points.map(([x, y]) => `${scale.X(x).toFixed(2)},${scale.Y(y).toFixed(2)}`).join("L");
  const path = (points) => (points.length ? `M${spots(points)}Z` : "");
  const color = (label) => `c${state.classes.indexOf(label)}`;
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
    const usual = state.rows.length > 300 ? 3.5 : state.rows.length > 80 ? 5 : 6.5, most = Math.max(1, state.shown?.run?.most ?? 1);
    return usual * (1 + 0.9 * Math.sqrt((counts[i] ?? 0) / most));
  };
  function drawPoint(i) {
    const code = state.classes.indexOf(state.labels[i]), [x, y] = place(i), [cx, cy] = [scale.X(x), scale.Y(y)];
    const [reach, body, text] = dots[i].children;
    const attributes = {
      class: `point c${code}`, "data-point": i, tabindex: i === state.chosen ? 0 : -1,
      "aria-label": `${name(i)}, label ${state.labels[i]}, at ${number(x)}, ${number(y)}`,
    };
    for (const key in attributes) if (dots[i].getAttribute(key) !== String(attributes[key])) dots[i].setAttribute(key, attributes[key]);
    set(reach, { cx, cy });
    set(body, { d: shape(code, cx, cy, size(i)) });
    if (few() || text.textContent) { set(text, { x: cx + 15, y: cy - 14 }); put(text, few() ? name(i) : ""); }
  }

  function drawWidest() {
    const margin = state.shown?.margin, wanted = [];
    if (margin) {
      const { planes, lower, apart } = margin;
      if (planes.length === 1) {
        const [a, b, c] = planes[0];
        const band = clip(clip(scale.corners, [a, b, c + lower]), [-a, -b, lower - c]);
        wanted.push(["path", { d: path(band), class: "band" }], ["path", { d: cut(planes[0]), class: "u" }]);
      } else if (apart) { // each class against the rest, where some plane does it
        planes.forEach((plane, c) => { if (plane) wanted.push(["path", { d: cut(plane), class: `u own ${color(state.shown.classes[c])}` }]); });
      } else {
        planes.forEach((_, c) => wanted.push(["path", { d: path(won(planes, c)) + path(won(planes, c, lower)), class: "band" }]));
        wanted.push(["path", { d: borders(planes), class: "u" }]);
      }
      for (const i of margin.support) wanted.push(ring(i, 11, "support"));
    }
    draw(layer.widest, wanted);
  }
  function drawLinks() { // rows that contradict each other: the hulls of the two classes meet
    const verdict = state.shown?.verdict, refuted = verdict?.refutation, wanted = [];
    if (refuted) {
      if (verdict.plane) wanted.push(["path", { d: cut(verdict.plane), class: "weak" }]);
      const groups = new Map();
      const apart = state.shown.run.offset && state.shown.classes.length === 2, rowsOnce = [...new Set(refuted.rows)];
      for (const row of rowsOnce) {
        const key = apart ? state.labels[row] : "all";
        groups.set(key, [...(groups.get(key) ?? []), row]);
      }
      for (const [key, rows] of groups) {
        const corners = rows.map(place), [mx, my] = [0, 1].map((j) => corners.reduce((sum, p) => sum + p[j], 0) / corners.length);
        corners.sort((p, q) => Math.atan2(p[1] - my, p[0] - mx) - Math.atan2(q[1] - my, q[0] - mx));
        wanted.push(["path", { d: path(corners), class: `link ${color(key)}` }]);
      }
      const all = rowsOnce.map(place), [mx, my] = [0, 1].map((j) => all.reduce((sum, p) => sum + p[j], 0) / all.length);
      rowsOnce.forEach((row, i) => { // names away from the middle, where there is room
        const dx = (all[i][0] - mx) * scale.sx, dy = (my - all[i][1]) * scale.sy, far = Math.hypot(dx, dy) || 1;
        const [kind, spot, words] = beside(row, (dx / far) * 17 || 17, (dy / far) * 17 + 5);
        wanted.push(ring(row, 13, "refuting"), ...(few() ? [] : [[kind, { ...spot, "text-anchor": dx < 0 ? "end" : "start" }, words]]));
      });
    }
    const fewest = state.shown?.fewest;
    if (fewest) { // the plane with the fewest errors, and the points that are in its way
      wanted.push(["path", { d: lines(fewest.planes), class: "fewest", "data-part": "fewest-plane" }]);
      for (const i of fewest.rows) {
        const [x, y] = place(i), [px, py] = [scale.X(x), scale.Y(y)];
        wanted.push(["path", { d: `M${px - 9},${py - 9}L${px + 9},${py + 9}M${px - 9},${py + 9}L${px + 9},${py - 9}`, class: "suspect" }]);
      }
    }
    draw(layer.links, wanted);
  }

  // ----------------------------------------------------------------------------- what changes from mistake to mistake: little

  let counts = new Uint32Array(0), counted = 0; // mistakes on each row after `counted` mistakes
  function countMistakes() {
    const run = state.shown?.run, k = run ? run.frames[state.index] : 0, changed = new Set();
    for (; run && counted < k; counted++) { counts[run.trace[counted]]++; changed.add(run.trace[counted]); }
    for (; run && counted > k; counted--) { counts[run.trace[counted - 1]]--; changed.add(run.trace[counted - 1]); }
    return changed;
  }
  function drawMoment() {
    const run = state.shown?.run;
    part.slider.value = state.index;
    const k = run?.frames[state.index], planes = run?.planes[state.index], marks = [];
    const told = run ? `mistake ${k} of ${run.mistakes}` : "–";
    put(part.moment, told);
    if (part.slider.getAttribute("aria-valuetext") !== told) part.slider.setAttribute("aria-valuetext", told);
    if (!run) { for (const key of ["regions", "plane", "marks"]) draw(layer[key], []); return; }
    drawPlanes(planes, run.apart);
    for (const i of countMistakes()) if (dots[i]) drawPoint(i);
    const row = run.trace[k - 1];
    if (k > 0 && row < state.rows.length) {
      const named = few() || state.shown.verdict?.refutation?.rows.includes(row);
      marks.push(ring(row, 19, "current"), ...(named ? [] : [beside(row, 21, 5)]));
    }
    const atEnd = state.index === run.frames.length - 1;
    if (atEnd && run.kept) marks.push(["path", { d: lines(run.kept), class: "kept", "data-part": "kept" }]);
    if (atEnd && run.vote) marks.push(["path", { d: run.vote.map((spot) => `M${spots([spot])}h0`).join(""), class: "kept vote", "data-part": "kept" }]);
    draw(layer.marks, marks);
    if (outside() !== wasOutside) { wasOutside = outside(); page.drawTools(); }
  }
  let wasOutside = false;
  function outside() { // whether the plane does not cut the view; regions of several classes always have borders somewhere
    const planes = state.shown?.run?.planes[state.index];
    if (planes?.length !== 1 || !scale || (planes[0][0] === 0 && planes[0][1] === 0)) return false;
    const sides = scale.corners.map((corner) => side(planes[0], corner));
    return Math.min(...sides) > 0 || Math.max(...sides) < 0;
  }
  function drawPlanes(planes, apart) {
    const { classes } = state.shown, some = planes.flat().some((v) => v !== 0);
    const both = planes.length > 1 ? planes : [[0, 0, 0], planes[0]]; // of two classes the second has the score, the first none
    draw(layer.regions, some ? both.map((_, c) => ["path", { d: path(won(both, c)), class: `region ${color(classes[c])}` }]) : []);
    if (planes.length > 1) {
      const own = planes.map((plane, c) => ["path", { d: cut(plane), class: `w own ${color(classes[c])}` }]);
      draw(layer.plane, some ? [...(apart ? own : []), ["path", { d: borders(planes), class: apart ? "w faint" : "w", "data-part": "plane" }]] : []);
      return;
    }
    const [a, b, c] = planes[0], length = Math.hypot(a, b);
    if (!length) { draw(layer.plane, []); return; }
    const mx = (scale.left + scale.right) / 2, my = (scale.bottom + scale.top) / 2, away = (a * mx + b * my + c) / length ** 2;
    let dx = a * scale.sx, dy = -b * scale.sy;
    const long = Math.hypot(dx, dy), reach = 0.13 * Math.min(scale.width, scale.height);
    [dx, dy] = [dx / long, dy / long];
    const inside = (value, most) => Math.min(most - 20, Math.max(20, value));
    const x = inside(scale.X(mx - a * away), scale.width), y = inside(scale.Y(my - b * away), scale.height);
    const [tx, ty] = [x + dx * reach, y + dy * reach];
    const tip = `M${tx + dx * 9},${ty + dy * 9}L${tx - dy * 5},${ty + dx * 5}L${tx + dy * 5},${ty - dx * 5}Z`;
    draw(layer.plane, [
      ["path", { d: cut([a, b, c]), class: "w", "data-part": "plane" }], ["path", { class: "arrow", d: `M${x},${y}L${tx},${ty}` }],
      ["path", { class: "head", d: tip }], ["text", { x: tx + dx * 20 - 5, y: ty + dy * 20 + 5 }, "w"],
    ]);
  }

  return { shownColumns, place, editable, movedTo, newRow, fitBox, drawPlot, drawPoint, drawMoment, outside };
}
