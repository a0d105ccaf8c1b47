// The plot: points, planes, margin, and the rows that contradict each other.

import { SHAPES, clip, name, number, put, set, svg, ticks } from "./elements.js";

export function plane(page) {
  const { state, part, line } = page;
  let scale = null; // data to pixels, also page.scale
  const shownColumns = () => {
    const d = state.rows[0]?.length ?? 2;
    return d <= 2 ? [0, 1] : state.settings.columns; // null: a projection, on which points cannot be moved
  };
  const place = (i) => {
    const columns = shownColumns();
    return columns ? columns.map((j) => state.rows[i][j] ?? 0) : state.shown?.points[i] ?? [0, 0];
  };
  const editable = () => !line.replay && shownColumns() !== null;

  function fitBox() {
    page.moved = true; // points are no longer where they are drawn
    const all = state.rows.map((_, i) => place(i));
    if (state.settings.fit_intercept === false || all.length < 2) all.push([0, 0]);
    if (all.length < 3) all.push([-1, -1], [1, 1]);
    const range = (j) => { const v = all.map((p) => p[j]); return [Math.min(...v), Math.max(...v)]; };
    const [[x0, x1], [y0, y1]] = [range(0), range(1)];
    const wide = x1 - x0 || y1 - y0 || 1, high = y1 - y0 || wide / 4;
    const [dx, dy] = [0.14 * wide, 0.14 * high];
    state.box = { x0: x0 - dx, x1: x1 + dx, y0: y0 - dy, y1: y1 + dy, equal: Math.max(wide / high, high / wide) < 8 };
  }

  function measure() {
    const width = part.plot.clientWidth || 600, height = part.plot.clientHeight || 440, { x0, x1, y0, y1, equal } = state.box;
    let sx = width / (x1 - x0), sy = height / (y1 - y0);
    if (equal) sx = sy = Math.min(sx, sy);
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const X = (x) => width / 2 + (x - cx) * sx, Y = (y) => height / 2 - (y - cy) * sy;
    const left = cx - width / 2 / sx, right = cx + width / 2 / sx, bottom = cy - height / 2 / sy, top = cy + height / 2 / sy;
    page.scale = scale = {
      width, height, sx, sy, X, Y, left, right, bottom, top,
      inverse: (px, py) => [cx + (px - width / 2) / sx, cy - (py - height / 2) / sy],
      corners: [[left, bottom], [right, bottom], [right, top], [left, top]],
      snap: 2 ** Math.floor(Math.log2(Math.max(1 / sx, 1 / sy))), // moved points are short binary fractions, and so are proofs
    };
  }
  const path = (points) => (points.length ? `M${points.map(([x, y]) => [scale.X(x).toFixed(2), scale.Y(y).toFixed(2)]).join("L")}Z` : "");
  const ring = (i, r, kind) => svg("circle", { cx: scale.X(place(i)[0]), cy: scale.Y(place(i)[1]), r, class: kind });
  const region = (polygon, label) => svg("path", { d: path(polygon), class: `region c${state.classes.indexOf(label)}` });
  function cut([a, b, c]) { // a plane as a line across the picture
    const ends = Math.abs(a) * scale.sy > Math.abs(b) * scale.sx
      ? [scale.bottom, scale.top].map((y) => [-(b * y + c) / a, y]) : [scale.left, scale.right].map((x) => [x, -(a * x + c) / b]);
    return Number.isFinite(ends[0][0] + ends[0][1] + ends[1][0] + ends[1][1]) ? path(ends).slice(0, -1) : "";
  }

  let layer = {}, dots = [], drawnCounts = [];
  function drawPlot() {
    measure();
    page.moved = false;
    const { width, height, X, Y } = scale;
    set(part.plot, { viewBox: `0 0 ${width} ${height}` });
    layer = {};
    const group = (key, ...more) => (layer[key] = svg("g", { class: key }, ...more));
    const axes = group("axes");
    const [across, up] = state.shown?.view.axes ?? ["", ""];
    const kind = (value) => (value === 0 ? "zero" : null);
    for (const x of ticks(scale.left, scale.right, width / 110)) {
      axes.append(svg("line", { x1: X(x), x2: X(x), y1: 0, y2: height, class: kind(x) }));
      if (X(x) < width - 40 - 8 * across.length) axes.append(svg("text", { x: X(x) + 4, y: height - 6 }, number(x, 3))); // before its name
    }
    for (const y of ticks(scale.bottom, scale.top, height / 90)) {
      axes.append(svg("line", { y1: Y(y), y2: Y(y), x1: 0, x2: width, class: kind(y) }));
      if (Y(y) > 34) axes.append(svg("text", { x: 6, y: Y(y) - 4 }, number(y, 3))); // below the name of the axis
    }
    axes.append(svg("text", { x: width - 8, y: height - 6, class: "axis", "text-anchor": "end" }, across));
    axes.append(svg("text", { x: 6, y: 16, class: "axis" }, up));
    const points = group("points", ...state.rows.map(drawPoint));
    part.plot.replaceChildren(group("regions"), axes, group("widest"), group("links"), group("plane"), points, group("marks"));
    page.dots = dots = [...layer.points.children];
    drawnCounts = [];
    drawWidest();
    drawLinks();
  }
  function drawPoint(_, i) {
    const code = state.classes.indexOf(state.labels[i]), [x, y] = place(i);
    return svg("g", {
      class: `point c${code}`, "data-point": i, tabindex: i === state.chosen ? 0 : -1, role: "button",
      transform: `translate(${scale.X(x)},${scale.Y(y)})`,
      "aria-label": `${name(i)}, label ${state.labels[i]}, at ${number(x)}, ${number(y)}`,
    },
    svg("circle", { r: 16, class: "reach" }), // what a finger can hit
    svg("path", { d: SHAPES[code], transform: `scale(${baseSize()})` }),
    few() ? svg("text", { x: 11, y: -9 }, name(i)) : null);
  }
  const few = () => state.rows.length <= 12; // each point can have its name beside it
  const baseSize = () => (state.rows.length > 300 ? 3.5 : state.rows.length > 80 ? 5 : 6.5);

  function drawWidest() {
    const margin = state.shown?.margin;
    if (!margin || margin.planes.length > 1) return;
    const [a, b, c] = margin.planes[0];
    const band = clip(clip(scale.corners, [a, b, c + margin.lower]), [-a, -b, margin.lower - c]);
    layer.widest.append(svg("path", { d: path(band), class: "band" }), svg("path", { d: cut([a, b, c]), class: "u" }));
    for (const i of margin.support) layer.widest.append(ring(i, 11, "support"));
  }
  function drawLinks() { // rows that contradict each other: the hulls of the two classes meet
    const verdict = state.shown?.verdict, refuted = verdict?.refutation;
    if (!refuted) return;
    if (verdict.plane) layer.links.append(svg("path", { d: cut(verdict.plane), class: "weak" }));
    const groups = new Map();
    const apart = state.shown.run.offset && state.classes.length === 2, rowsOnce = [...new Set(refuted.rows)];
    for (const row of rowsOnce) {
      const key = apart ? state.labels[row] : "all";
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    for (const [key, rows] of groups) {
      const spots = rows.map(place), [mx, my] = [0, 1].map((j) => spots.reduce((sum, p) => sum + p[j], 0) / spots.length);
      spots.sort((p, q) => Math.atan2(p[1] - my, p[0] - mx) - Math.atan2(q[1] - my, q[0] - mx));
      layer.links.append(svg("path", { d: path(spots), class: `link c${state.classes.indexOf(key)}` }));
    }
    rowsOnce.forEach((row) => {
      const [x, y] = place(row);
      layer.links.append(ring(row, 13, "refuting"));
      if (!few()) layer.links.append(svg("text", { x: scale.X(x) + 14, y: scale.Y(y) - 10 }, name(row)));
    });
  }

  // What changes from mistake to mistake: cheap, so that scrubbing keeps up with the screen.
  function drawMoment() {
    const run = state.shown?.run;
    part.slider.value = state.index;
    for (const key of ["regions", "plane", "marks"]) layer[key]?.replaceChildren();
    if (!run) { put(part.moment, "–"); return; }
    const k = run.frames[state.index], planes = run.planes[state.index];
    put(part.moment, `mistake ${k} of ${run.mistakes}`);
    part.slider.setAttribute("aria-valuetext", `mistake ${k} of ${run.mistakes}`);
    drawPlanes(planes);
    const counts = new Array(state.rows.length).fill(0);
    for (let t = 0; t < k; t++) counts[run.trace[t]]++;
    const most = Math.max(1, ...run.counts);
    counts.forEach((count, i) => {
      if (drawnCounts[i] === count && drawnCounts.most === most) return;
      dots[i]?.children[1].setAttribute("transform", `scale(${baseSize() * (1 + 0.9 * Math.sqrt(count / most))})`);
    });
    drawnCounts = counts;
    drawnCounts.most = most;
    if (k > 0 && run.trace[k - 1] < state.rows.length) {
      const row = run.trace[k - 1], [x, y] = place(row);
      layer.marks.append(ring(row, 19, "current"));
      if (!few()) layer.marks.append(svg("text", { x: scale.X(x) + 21, y: scale.Y(y) + 5 }, name(row)));
    }
    const atEnd = state.index === run.frames.length - 1;
    if (atEnd && run.kept?.length === 1) layer.marks.append(svg("path", { d: cut(run.kept[0]), class: "kept" }));
  }
  function drawPlanes(planes) {
    if (planes.length > 1) {
      planes.forEach((own, c) => {
        let won = scale.corners;
        planes.forEach((rival, r) => { if (r !== c) won = clip(won, own.map((v, j) => v - rival[j])); });
        if (planes.flat().some((v) => v !== 0)) layer.regions.append(region(won, state.shown.classes[c]));
      });
      return;
    }
    const [a, b, c] = planes[0], size = Math.hypot(a, b);
    const [minus, plus] = state.shown.classes;
    if (a || b || c) layer.regions.append(region(clip(scale.corners, [a, b, c]), plus), region(clip(scale.corners, [-a, -b, -c]), minus));
    if (!size) return;
    const mx = (scale.left + scale.right) / 2, my = (scale.bottom + scale.top) / 2, away = (a * mx + b * my + c) / size ** 2;
    let dx = a * scale.sx, dy = -b * scale.sy;
    const long = Math.hypot(dx, dy), reach = 0.13 * Math.min(scale.width, scale.height);
    [dx, dy] = [dx / long, dy / long];
    const inside = (value, most) => Math.min(most - 20, Math.max(20, value));
    const x = inside(scale.X(mx - a * away), scale.width), y = inside(scale.Y(my - b * away), scale.height);
    const [tx, ty] = [x + dx * reach, y + dy * reach];
    const tip = `M${tx + dx * 9},${ty + dy * 9}L${tx - dy * 5},${ty + dx * 5}L${tx + dy * 5},${ty - dx * 5}Z`;
    layer.plane.append(
      svg("path", { d: cut([a, b, c]), class: "w", "data-part": "plane" }), svg("path", { class: "arrow", d: `M${x},${y}L${tx},${ty}` }),
      svg("path", { class: "head", d: tip }), svg("text", { x: tx + dx * 20 - 5, y: ty + dy * 20 + 5 }, "w"));
  }
  function redrawUnder() { // while a point is held or has the focus its element must stay
    for (const key of ["widest", "links"]) layer[key].replaceChildren();
    drawWidest();
    drawLinks();
  }

  return { shownColumns, place, editable, fitBox, drawPlot, redrawUnder, drawMoment };
}
