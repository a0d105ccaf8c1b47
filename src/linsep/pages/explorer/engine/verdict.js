// Whether a plane separates the rows, with a proof: exact arithmetic decides, whatever floats suggest.
//
// Every row x of class y and each rival r is an inequality about the weights of all classes, (Θ^y − Θ^r)·(x, 1) > 0 (Kesler's
// construction). The weights of the first class may be 0, so that two classes have one weight vector.

import { wholeRow } from "../../checker/exact.js";
import { OutOfTime, Span, dot, floats, gordan, shortened } from "./simplex.js";

// The inequalities as whole numbers: {row, rival, cells}; a positive factor, `scale`, makes them whole.
export function inequalities(rows, codes, classes, offset) {
  const found = [];
  rows.forEach((row, i) => {
    const { cells, scale } = wholeRow(Array.from(row), "binary"), x = offset ? [...cells, scale] : cells, d = x.length;
    for (let rival = 0; rival < classes; rival++) {
      if (rival === codes[i]) continue;
      const z = Array(d * (classes - 1)).fill(0n);
      for (let j = 0; j < d; j++) {
        if (codes[i]) z[(codes[i] - 1) * d + j] = x[j];
        if (rival) z[(rival - 1) * d + j] = -x[j];
      }
      found.push({ row: i, rival, cells: z, scale });
    }
  });
  return found;
}

// Returns {kind, direction, refutation, core}. `direction` are whole-number weights of classes 1, 2, …; `refutation` is a list of
// {row, rival, multiplier: {top, bottom}} that adds up to 0, `core` the few of it that contradict each other. `guesses` are
// weights that may separate.
export function separate(rows, codes, classes, offset, { guesses = [], seconds = 20 } = {}) {
  const found = inequalities(rows, codes, classes, offset), width = found[0].cells.length;
  const deadline = performance.now() + 1000 * seconds;
  for (const guess of guesses) {
    if (!guess || !guess.every(Number.isFinite)) continue;
    const { cells } = wholeRow(guess, "binary");
    if (found.every(({ cells: z }) => dot(z, cells) > 0n)) return { kind: "separable", direction: shortened(cells), refutation: null, core: null };
  }
  try {
    return decide(found, width, deadline);
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    return { kind: "unknown", direction: null, refutation: null, core: null };
  }
}

function decide(found, width, deadline) {
  const weights = new Map(), span = new Span(); // multipliers of rows that must lie on the plane, and what they span
  let left = [...found.keys()], core = null;
  while (left.length) {
    const fixed = [...weights.keys()];
    const answer = alternative(found, left, fixed, width, deadline);
    if (answer.direction) {
      const kind = core ? "quasi" : "separable";
      return { kind, direction: shortened(answer.direction), refutation: core && listed(found, weights), core };
    }
    let factor = 1n; // of the multipliers so far: all stay positive
    for (const [j, c] of answer.fixed) if (c < 0n) factor = max(factor, -c / weights.get(fixed[j]) + 1n);
    for (const key of fixed) weights.set(key, weights.get(key) * factor);
    for (const [j, c] of answer.fixed) weights.set(fixed[j], weights.get(fixed[j]) + c);
    for (const [j, value] of answer.rows) { weights.set(left[j], value); span.add(found[left[j]].cells); }
    core ??= listed(found, weights);
    left = left.filter((j) => !weights.has(j) && span.rest(found[j].cells));
  }
  return { kind: "overlap", direction: null, refutation: listed(found, weights), core };
}
const max = (a, b) => (a > b ? a : b);

// Gordan's alternative for many rows: of a few first, then with those that the direction found is most wrong about.
function alternative(found, left, fixed, width, deadline) {
  const cells = (keys) => keys.map((key) => found[key].cells), near = left.map((key) => floats(found[key].cells));
  if (left.length <= 4 * width + 40) return gordan(cells(left), cells(fixed), width, deadline);
  const used = new Set(Array.from({ length: 2 * width + 20 }, (_, t) => Math.floor((t * left.length) / (2 * width + 20))));
  for (;;) {
    const places = [...used], answer = gordan(places.map((p) => found[left[p]].cells), cells(fixed), width, deadline);
    if (!answer.direction) return { ...answer, rows: answer.rows.map(([j, value]) => [places[j], value]) };
    const g = floats(answer.direction);
    const values = near.map((z, p) => { let sum = 0; for (let j = 0; j < width; j++) sum += z[j] * g[j]; return [sum, p]; });
    let wrong = values.filter(([value, p]) => value < 1e-9 && !used.has(p));
    if (!wrong.some(([value]) => value < -1e-9)) wrong = wrong.filter(([, p]) => dot(found[left[p]].cells, answer.direction) <= 0n);
    if (!wrong.length) return answer;
    wrong.sort((p, q) => p[0] - q[0]);
    for (const [, p] of wrong.slice(0, width + 10)) used.add(p);
  }
}

function listed(found, weights) { // multipliers of the rows as they are, in lowest terms
  const keys = [...weights.keys()].sort((p, q) => p - q), values = keys.map((key) => weights.get(key) * found[key].scale);
  const short = shortened(values);
  return keys.map((key, i) => ({ row: found[key].row, rival: found[key].rival, multiplier: short[i] }));
}
