// The plane that is dragged by hand, and what is read off it; and what is said of a point under the pointer.

import { draw, name, number, put, signed, tag, vector } from "./elements.js";
import { onto } from "./view.js";

export function handling(page) {
  const { state, part } = page;
  const possible = () => state.shown?.run && state.shown.classes.length === 2 && (state.shown.seen[0]?.length ?? 0) <= 2;

  // The plane to begin with: that of the run, or one through the middle of the picture.
  function begin() {
    const { run } = state.shown, planes = state.shown.linear && run ? page.planesOf(run.weightsAt(state.k)) : [];
    const [a, b, c] = planes[0] ?? [0, 0, 0], length = Math.hypot(a, b), [mx, my] = page.scale.middle;
    state.hand = length && !page.outside() ? [a / length, b / length, c / length] : [1, 0, -mx].map((v, j) => (j === 2 && !v ? -mx + 0 * my : v));
    if (!state.settings.fit_intercept) state.hand[2] = 0;
  }
  function toolChosen() {
    if (state.tool === "plane" && !possible()) { state.tool = "move"; page.complain("a plane of your own needs two classes, and one or two columns"); }
    if (state.tool === "plane" && !state.hand) begin();
    page.drawTools();
    drawHand();
  }
  const score = ([x, y]) => state.hand[0] * x + state.hand[1] * y + state.hand[2];

  function drawHand() {
    const on = state.hand && possible() && (state.tool === "plane" || state.hand.shown);
    part.hand.hidden = !on;
    if (!on) { draw(page.layer.hand, []); return; }
    const { X, Y } = page.scale, { codes, test } = state.shown, spots = state.rows.map((_, i) => page.place(i)), foot = spots[state.chosen];
    const lines = [["path", { d: page.cut(state.hand), class: "hand-line", "data-part": "hand-plane" }], ...page.normal(state.hand, "hand-arrow", "hand-head", "")];
    if (foot) {
      const s = score(foot), at = [foot[0] - s * state.hand[0], foot[1] - s * state.hand[1]];
      lines.unshift(["path", { d: `M${X(foot[0])},${Y(foot[1])}L${X(at[0])},${Y(at[1])}`, class: "hand-foot" }]);
    }
    draw(page.layer.hand, lines);
    let wrong = 0, tested = 0, wrongTest = 0, least = Infinity, loss = 0;
    spots.forEach((spot, i) => {
      const v = (codes[i] ? 1 : -1) * score(spot);
      if (test[i]) { tested++; if (v <= 0) wrongTest++; return; }
      if (v <= 0) wrong++;
      loss += Math.max(0, -v);
      least = Math.min(least, v);
    });
    const [a, b, c] = state.hand, onto = foot ? a * foot[0] + b * foot[1] : 0, used = spots.length - tested;
    put(part.hand, [
      `Your plane: w = ${vector([a, b].slice(0, state.shown.seen[0].length))}, ‖w‖ = 1, b = ${number(c)}: it lies at ${number(-c || 0)} along w.`,
      `${wrong} of ${used} wrong${tested ? `, ${wrongTest} of ${tested} held out` : ""}; margin ${number(least)}; loss ${number(loss)}.`,
      foot ? `Projection of ${name(state.chosen)} onto w: w·x = ${number(onto)}; its distance: w·x + b = ${number(onto)} ${signed(c)} = ${number(onto + c)}.` : "",
    ].join(" "));
    part.hand.dataset.errors = wrong;
    part.hand.dataset.margin = least;
  }

  // A drag that begins near the arrow turns the plane about the middle of what is seen of it; elsewhere it moves the plane.
  function grab([x, y]) {
    const { sx, sy, left, right, bottom, top } = page.scale, [a, b] = state.hand, mx = (left + right) / 2, my = (bottom + top) / 2;
    const away = score([mx, my]), pivot = state.settings.fit_intercept ? [mx - a * away, my - b * away] : [0, 0];
    const ahead = Math.hypot((x - pivot[0]) * sx, (y - pivot[1]) * sy) > 12 && Math.abs(score([x, y])) * Math.min(sx, sy) > 14;
    return { turn: ahead || !state.settings.fit_intercept, pivot, from: [x, y], hand: [...state.hand] };
  }
  function pull({ turn, pivot, from, hand }, [x, y]) {
    if (turn) {
      const before = Math.atan2(from[1] - pivot[1], from[0] - pivot[0]), after = Math.atan2(y - pivot[1], x - pivot[0]), angle = after - before;
      const a = hand[0] * Math.cos(angle) - hand[1] * Math.sin(angle), b = hand[0] * Math.sin(angle) + hand[1] * Math.cos(angle);
      state.hand = [a, b, state.settings.fit_intercept ? -(a * pivot[0] + b * pivot[1]) : 0];
    } else state.hand = [hand[0], hand[1], hand[2] - hand[0] * (x - from[0]) - hand[1] * (y - from[1])];
    drawHand();
  }

  // What is said of a point: its α, its score, its distance.
  function describe(i) {
    const { run, codes, classes, test, flipped, seen } = state.shown ?? {};
    if (!seen?.[i]) return "";
    const lines = [`${name(i)} = ${vector(seen[i].slice(0, 4), seen[i].length)}, label ${tag(classes[codes[i]])}${flipped[i] ? ` (noise: it was ${tag(state.labels[i])})` : ""}`];
    if (test[i]) lines.push("held out: not learned from");
    else if (run) lines.push(`α = ${page.mistakesOn(i)}${run.counts[i] !== page.mistakesOn(i) ? ` so far, ${run.counts[i]} in the end` : ` of ${state.k} mistakes`}`);
    if (run && run.machines === 1) {
      const w = run.weightsAt(state.k), s = state.shown.space.dot(i, w, 0) + w[run.width], y = codes[i] ? 1 : -1, length = Math.hypot(...w.slice(0, run.width));
      lines.push(`y s(x) = ${number(y * s)}${length && !state.shown.space.kernel ? `, distance y s(x)/‖w‖ = ${number((y * s) / length)}` : ""}`);
    }
    return lines.join("\n");
  }
  function tell(i) {
    const text = i === null ? "" : describe(i);
    part.tip.hidden = !text;
    if (!text) return;
    put(part.tip, text);
    const [x, y] = page.place(i), { X, Y, width, height } = page.scale;
    part.tip.style.left = `${Math.max(4, Math.min(width - 210, X(x) + 16))}px`;
    part.tip.style.top = `${Y(y) + 24 > height - 80 ? Math.max(4, Y(y) - 92) : Y(y) + 22}px`;
  }
  return { toolChosen, drawHand, grab, pull, tell, describe, onto };
}
