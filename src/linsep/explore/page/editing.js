// Points by mouse, finger and keyboard.

import { SHAPES, html, svg, tag } from "./elements.js";
import { TOOLS } from "./structure.js";

export function editing(page) {
  const { state, part } = page;

  function drawTools() {
    for (const [key] of TOOLS) part[`tool-${key}`].setAttribute("aria-pressed", state.tool === key);
    for (const [key] of TOOLS) part[`tool-${key}`].disabled = !page.editable();
    const chip = (label, c) => html("button", { type: "button", class: `c${c}`, "data-label": label, "aria-pressed": label === state.label, "aria-label": `New points get label ${label}`, onclick: () => { state.label = label; drawTools(); } },
      svg("svg", { viewBox: "-1.5 -1.5 3 3", "aria-hidden": "true" }, svg("path", { d: SHAPES[c] })), tag(label));
    part.chips.replaceChildren(...state.classes.map(chip), ...(state.classes.length < 10 ? [html("button", { type: "button", "aria-label": "Another class", title: "Another class", "data-do": "class", onclick: addClass }, "+")] : []));
    part.plot.dataset.tool = page.editable() ? state.tool : "none";
    const c = state.shown?.run && state.shown.classes.length === 2;
    part.legend.replaceChildren(...[["w", "perceptron’s plane", c], ["u", "widest margin", c && state.shown.margin], ["ring", "point of this mistake", state.shown?.run], ["size", "larger: more mistakes on it", state.shown?.run]]
      .map(([kind, text, there]) => html("span", { class: there ? kind : `${kind} faint` }, html("i"), text)));
  }
  function addClass() {
    const words = typeof state.classes[0] === "string";
    let fresh = words ? "A" : Math.max(...state.classes) + 1;
    while (state.classes.includes(fresh)) fresh = words ? String.fromCharCode(fresh.charCodeAt(0) + 1) : fresh + 1;
    state.classes.push(fresh);
    state.label = fresh;
    drawTools();
  }
  const snapped = (value) => Math.round(value / page.scale.snap) * page.scale.snap;
  function moveTo(i, x, y) {
    const columns = page.shownColumns();
    const inside = [Math.min(page.scale.right, Math.max(page.scale.left, x)), Math.min(page.scale.top, Math.max(page.scale.bottom, y))];
    columns.forEach((j, axis) => { if (j < state.rows[i].length) state.rows[i][j] = snapped(inside[axis]); });
    const spot = page.place(i);
    page.dots[i].setAttribute("transform", `translate(${page.scale.X(spot[0])},${page.scale.Y(spot[1])})`);
    page.own();
    page.refresh();
  }
  function addPoint(x, y) {
    const d = state.rows[0]?.length ?? 2, row = Array(d).fill(0), columns = page.shownColumns();
    if (d > 2) for (let j = 0; j < d; j++) row[j] = state.rows.reduce((s, r) => s + r[j], 0) / state.rows.length; // the other columns: their mean
    columns.forEach((j, axis) => { if (j < d) row[j] = snapped(axis ? y : x); });
    state.rows.push(row);
    state.labels.push(state.label);
    changed(state.rows.length - 1);
  }
  function removePoint(i) { state.rows.splice(i, 1); state.labels.splice(i, 1); changed(Math.min(i, state.rows.length - 1)); }
  function relabel(i, label) {
    state.labels[i] = label ?? state.classes[(state.classes.indexOf(state.labels[i]) + 1) % state.classes.length];
    changed(i);
  }
  function changed(chosen) { // number or label of points: what was shown no longer fits
    page.own();
    page.pause();
    const focus = part.plot.contains(part.plot.getRootNode().activeElement);
    state.chosen = Math.max(0, chosen);
    if (state.shown) state.shown = { ...state.shown, run: null, verdict: null, margin: null, theorem: null };
    page.drawPlot();
    if (focus) page.dots[state.chosen]?.focus();
    page.refresh();
  }
  const choose = (i) => { page.dots[state.chosen]?.setAttribute("tabindex", -1); state.chosen = i; page.dots[i]?.setAttribute("tabindex", 0); page.dots[i]?.focus({ preventScroll: true }); };

  page.drag = null;
  let pressed = null; // a plot that has captured the pointer is told of double clicks in the point's place
  const where = (event) => { const box = part.plot.getBoundingClientRect(); return page.scale.inverse((event.clientX - box.left) * page.scale.width / box.width, (event.clientY - box.top) * page.scale.height / box.height); };
  part.plot.addEventListener("pointerdown", (event) => {
    if (!page.editable() || event.button > 0) return;
    const point = event.target.closest("[data-point]"), [x, y] = where(event);
    pressed = point ? +point.dataset.point : null;
    if (!point) { page.drag = { add: [x, y], from: [event.clientX, event.clientY] }; return; }
    const i = +point.dataset.point, spot = page.place(i);
    choose(i);
    event.preventDefault();
    if (state.tool === "delete") removePoint(i);
    else if (state.tool === "relabel") relabel(i, state.labels[i] === state.label ? undefined : state.label);
    else { page.drag = { i, dx: spot[0] - x, dy: spot[1] - y }; part.plot.setPointerCapture(event.pointerId); }
  });
  part.plot.addEventListener("pointermove", (event) => {
    if (page.drag?.i === undefined) return;
    const [x, y] = where(event);
    moveTo(page.drag.i, x + page.drag.dx, y + page.drag.dy);
  });
  part.plot.addEventListener("pointerup", (event) => {
    if (page.drag?.add && state.tool === "move" && Math.hypot(event.clientX - page.drag.from[0], event.clientY - page.drag.from[1]) < 6) addPoint(...page.drag.add);
    page.drag = null;
  });
  part.plot.addEventListener("pointercancel", () => { page.drag = null; });
  part.plot.addEventListener("dblclick", () => { if (pressed !== null && page.editable() && state.tool === "move") relabel(pressed); });
  part.plot.addEventListener("contextmenu", (event) => { const point = event.target.closest("[data-point]"); if (point && page.editable()) { event.preventDefault(); removePoint(+point.dataset.point); } });
  part.plot.addEventListener("keydown", (event) => {
    const point = event.target.closest("[data-point]");
    if (!point || event.ctrlKey || event.metaKey) return;
    const i = +point.dataset.point, n = state.rows.length, far = (event.shiftKey ? 1 : 8), [x, y] = page.place(i), digit = +event.key;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "n" || event.key === "]") choose((i + 1) % n);
    else if (event.key === "p" || event.key === "[") choose((i + n - 1) % n);
    else if (!page.editable()) return;
    else if (move) moveTo(i, x + move[0] * far / page.scale.sx, y + move[1] * far / page.scale.sy);
    else if (event.key === "Delete" || event.key === "Backspace") removePoint(i);
    else if (event.key === "l" || event.key === "Enter") relabel(i);
    else if (digit >= 1 && digit <= state.classes.length) relabel(i, state.classes[digit - 1]);
    else if (event.key === "a") addPoint(x + 24 / page.scale.sx, y + 24 / page.scale.sy);
    else return;
    event.preventDefault();
  });

  return { drawTools };
}
