// Points by mouse, finger and keyboard.

import { MOST_CLASSES } from "../engine/points.js";
import { html, shape, svg, tag } from "./elements.js";
import { MARKS, TOOLS } from "./structure.js";

export function editing(page) {
  const { state, part } = page;

  function drawTools() {
    for (const [key] of TOOLS) part[`tool-${key}`].setAttribute("aria-pressed", state.tool === key);
    const pick = (label) => () => { state.label = label; drawTools(); };
    const sign = (c) => svg("svg", { viewBox: "-15 -15 30 30", "aria-hidden": "true" }, svg("path", { d: shape(c, 0, 0, 10) }));
    const chips = state.classes.map((label, c) => html("button", {
      type: "button", class: `c${c}`, "data-label": label, onclick: pick(label),
      "aria-pressed": String(label === state.label), "aria-label": `New points get label ${label}`,
    }, sign(c), tag(label)));
    const another = html("button", { type: "button", "aria-label": "Another class", title: "Another class", "data-do": "class", onclick: addClass }, "+");
    part.chips.replaceChildren(...chips, ...(state.classes.length < MOST_CLASSES ? [another] : []));
    part.plot.dataset.tool = state.tool;
    part.vectors.setAttribute("aria-pressed", state.vectors);
    part.vectors.hidden = !state.shown?.run || state.shown.run.machines > 1 || !state.shown.linear || state.shown.run.width !== 2;
    drawLegend();
  }
  function drawLegend() { // what is in the picture now
    const { run, theory, test, flipped, settings } = state.shown ?? {}, there = {
      w: run, u: theory?.drawn || theory?.rest, band: theory?.drawn && state.shown.linear, "ring support": theory?.drawn, "ring now": run, size: run, kept: run && settings.keep !== "last",
      fewest: theory?.fewest?.w, cross: theory?.fewest?.rows.length, "ring refuting": theory?.verdict.core, weak: theory?.verdict.kind === "quasi" && run.machines === 1,
      hollow: test?.some(Boolean), flipped: flipped?.some(Boolean), hand: state.tool === "plane", delta: state.vectors && !part.vectors.hidden,
    };
    const text = (kind, label) => (kind === "w" && page.outside?.() ? "this w (outside this view)" : label);
    part.legend.replaceChildren(...MARKS.filter(([kind]) => there[kind]).map(([kind, label, what]) => html("span", { class: kind, title: what }, html("i"), text(kind, label))));
  }

  function addClass() {
    const words = typeof state.classes[0] === "string";
    let fresh = words ? "A" : Math.max(...state.classes) + 1;
    while (state.classes.includes(fresh)) fresh = words ? String.fromCharCode(fresh.charCodeAt(0) + 1) : fresh + 1;
    state.classes.push(fresh);
    state.label = fresh;
    drawTools();
  }
  function moveTo(i, row, x, y) { // of a point that began as `row`
    const { left, right, bottom, top } = page.scale;
    hold();
    state.rows[i] = page.movedTo(row, [Math.min(right, Math.max(left, x)), Math.min(top, Math.max(bottom, y))]);
    page.drawPoint(i);
    page.own();
    page.refresh();
  }
  function addPoint(x, y) {
    page.remember();
    hold();
    state.rows.push(page.newRow([x, y]));
    state.labels.push(state.label);
    changed(state.rows.length - 1);
  }
  function removePoint(i) {
    page.remember();
    hold();
    state.rows.splice(i, 1);
    state.labels.splice(i, 1);
    changed(Math.min(i, state.rows.length - 1));
  }
  function relabel(i, label) {
    page.remember();
    state.labels[i] = label ?? state.classes[(state.classes.indexOf(state.labels[i]) + 1) % state.classes.length];
    changed(i);
  }
  // What the plane with the fewest errors has wrong: taken away, or given the label of its side.
  function removeRows() {
    const gone = new Set(state.shown?.theory?.fewest?.rows);
    if (!gone.size) return;
    page.remember();
    hold();
    for (const key of ["rows", "labels"]) state[key] = state[key].filter((_, i) => !gone.has(i));
    changed(0);
  }
  function flipRows() {
    const { theory, run, codes, classes, space } = state.shown ?? {}, { rows = [], w } = theory?.fewest ?? {};
    if (!rows.length) return;
    page.remember();
    for (const i of rows) {
      if (run.machines === 1) { state.labels[i] = classes[1 - codes[i]]; continue; }
      const scores = w?.map((one, c) => (c === codes[i] ? -Infinity : space.dot(i, one, 0) + one.at(-1))) ?? classes.map((_, c) => (c === codes[i] ? 0 : 1));
      state.labels[i] = classes[scores.indexOf(Math.max(...scores))];
    }
    changed(rows[0]);
  }
  function hold() { // a projection must not turn under the hand that moves a point on it
    if (!page.shownColumns()) state.held ??= state.shown?.view ?? null;
  }
  function changed(chosen) { // number or label of points: what was shown no longer fits
    page.own();
    page.pause();
    const focus = part.plot.contains(part.plot.getRootNode().activeElement);
    state.chosen = Math.max(0, chosen);
    page.tell(null);
    page.refresh(true);
    if (focus) page.dots[state.chosen]?.focus({ preventScroll: true });
  }
  function choose(i) { // one point at a time can be reached with Tab
    page.dots[state.chosen]?.setAttribute("tabindex", -1);
    state.chosen = i;
    page.dots[i]?.setAttribute("tabindex", 0);
    page.dots[i]?.focus({ preventScroll: true });
  }

  page.drag = null;
  let pressed = null; // a plot that has captured the pointer is told of double clicks in the point's place
  function where(event) {
    const box = part.plot.getBoundingClientRect(), { width, height, inverse } = page.scale;
    return inverse(((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height);
  }
  function hit(event) { // the nearest point of those within reach
    if (!event.target.closest("[data-point]")) return null;
    const [x, y] = where(event), { sx, sy } = page.scale;
    const far = (i) => { const spot = page.place(i); return Math.hypot((spot[0] - x) * sx, (spot[1] - y) * sy); };
    return state.rows.reduce((best, _, i) => { const away = far(i); return away < best[1] ? [i, away] : best; }, [null, Infinity])[0];
  }
  part.plot.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    const [x, y] = where(event), i = (pressed = hit(event));
    if (state.tool === "plane") {
      if (i !== null) choose(i);
      page.drag = { hand: page.grab([x, y]) };
      part.plot.setPointerCapture(event.pointerId);
      event.preventDefault();
      page.drawHand();
      return;
    }
    if (i === null) { page.drag = { add: [x, y], from: [event.clientX, event.clientY] }; return; }
    const spot = page.place(i);
    choose(i);
    if (event.pointerType === "touch") page.tell(i);
    event.preventDefault();
    if (state.tool === "delete") removePoint(i);
    else if (state.tool === "relabel") relabel(i, state.labels[i] === state.label ? undefined : state.label);
    else { page.drag = { i, row: state.rows[i], dx: spot[0] - x, dy: spot[1] - y }; part.plot.setPointerCapture(event.pointerId); }
  });
  part.plot.addEventListener("pointermove", (event) => {
    const { drag } = page, [x, y] = where(event);
    if (drag?.hand) { page.pull(drag.hand, [x, y]); return; }
    if (drag?.i === undefined) { page.tell(drag ? null : hit(event)); return; }
    page.tell(null);
    if (!drag.begun) page.remember();
    drag.begun = true;
    moveTo(drag.i, drag.row, x + drag.dx, y + drag.dy);
  });
  part.plot.addEventListener("pointerup", (event) => {
    const { add, from } = page.drag ?? {};
    page.drag = null;
    if (add && state.tool === "move" && Math.hypot(event.clientX - from[0], event.clientY - from[1]) < 6) addPoint(...add);
  });
  // a finger on a point moves the point, not the page, whatever the direction
  part.plot.addEventListener("touchstart", (event) => { if ((state.tool === "plane" || event.target.closest("[data-point]"))) event.preventDefault(); }, { passive: false });
  part.plot.addEventListener("pointerleave", () => page.tell(null));
  part.plot.addEventListener("focusin", (event) => { const point = event.target.closest("[data-point]"); if (point?.matches(":focus-visible")) page.tell(+point.dataset.point); });
  part.plot.addEventListener("focusout", () => page.tell(null));
  part.plot.addEventListener("pointercancel", () => { page.drag = null; });
  part.plot.addEventListener("dblclick", () => { if (pressed !== null && state.tool === "move") relabel(pressed); });
  part.plot.addEventListener("contextmenu", (event) => {
    const i = hit(event);
    if (i === null) return;
    event.preventDefault();
    removePoint(i);
  });
  part.plot.addEventListener("keydown", (event) => {
    const point = event.target.closest("[data-point]");
    if (event.key === "a" && !state.rows.length) { addPoint(...page.scale.middle); return; }
    if (!point || event.ctrlKey || event.metaKey) return;
    const i = +point.dataset.point, n = state.rows.length, far = (event.shiftKey ? 1 : 8), [x, y] = page.place(i), digit = +event.key;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "n" || event.key === "]") choose((i + 1) % n);
    else if (event.key === "p" || event.key === "[") choose((i + n - 1) % n);
    else if (move) {
      page.remember(`arrows on ${i}`);
      moveTo(i, state.rows[i], x + move[0] * far / page.scale.sx, y + move[1] * far / page.scale.sy);
    }
    else if (event.key === "Delete" || event.key === "Backspace") removePoint(i);
    else if (event.key === "l" || event.key === "Enter") relabel(i);
    else if (digit >= 1 && digit <= state.classes.length) relabel(i, state.classes[digit - 1]);
    else if (event.key === "a") addPoint(x + 24 / page.scale.sx, y + 24 / page.scale.sy);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has keys of its own
  });

  return { drawTools, removeRows, flipRows };
}
