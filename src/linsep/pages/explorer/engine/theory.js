// What is known of the rows beside the run: the verdict, the largest margins, the fewest errors, and the mistake bound.

import { space as spaceOf } from "./features.js";
import { fewestErrors } from "./fewest.js";
import { largestMargin } from "./margin.js";
import { norm } from "./run.js";
import { separate } from "./verdict.js";

// Weights of a run as guesses of a verdict: those of each class less those of the first.
export function guess(w, machines, width, offset) {
  const size = width + 1, length = width + offset;
  if (machines === 1) return Array.from(w.slice(0, length));
  return Array.from({ length: (machines - 1) * length }, (_, p) => w[(Math.floor(p / length) + 1) * size + (p % length)] - w[p % length]);
}

// The question is plain data, so that a worker can answer it: rows as the perceptron sees them, class numbers, and weights of
// the run. `verdict.direction` are exact weights, `drawn` is the margin that people draw, `bounding` that of the theorem.
export function theory({ rows, codes, classes, offset, apart, machines, weights = [], seconds = 20 }) {
  const width = rows[0].length, guesses = weights.map((w) => guess(w, machines, width, offset));
  const forms = { drawn: offset ? "affine" : "origin", bounding: offset ? "augmented" : "origin" };
  const found = { verdict: separate(rows, codes, classes, offset, { guesses: apart ? [] : guesses, seconds }), drawn: null, bounding: null, fewest: null, rest: null, offsetHelps: false };
  const { kind } = found.verdict;
  if (kind === "separable" && !apart) {
    found.drawn = largestMargin(rows, codes, classes, forms.drawn);
    found.bounding = offset ? largestMargin(rows, codes, classes, forms.bounding) : found.drawn;
  }
  if (apart) {
    found.rest = Array.from({ length: classes }, (_, c) => {
      const own = codes.map((code) => (code === c ? 1 : 0)), verdict = separate(rows, own, 2, offset, { seconds });
      const separable = verdict.kind === "separable";
      return {
        kind: verdict.kind, core: verdict.core,
        drawn: separable ? largestMargin(rows, own, 2, forms.drawn) : null, bounding: separable ? largestMargin(rows, own, 2, forms.bounding) : null,
      };
    });
  } else if (kind === "quasi" || kind === "overlap") {
    found.fewest = fewestErrors(spaceOf(rows, "columns"), codes, classes, offset, weights);
    if (!offset) found.offsetHelps = separate(rows, codes, classes, true, { seconds: 2 }).kind === "separable";
  }
  return found;
}

// The mistake bound (Novikoff 1962): with u of margin γ, w·u ≥ w₀·u + kηγ and ‖w‖² ≤ ‖w₀‖² + k (η²Q + 2ηm), with Q the largest
// squared length of an update; so k is at most the larger root of a quadratic, `limit`.
export function bound({ radius, offset, many, eta, updateMargin = 0, margin, along = 0, square = 0 }) {
  const Q = (radius * radius + (offset ? 1 : 0)) * (many ? 2 : 1);
  const update = Q + (2 * updateMargin) / eta, ahead = along / eta, size = square / (eta * eta);
  const half = (update - 2 * ahead * margin) / (2 * margin * margin), rest = less(size, ahead * ahead) / (margin * margin);
  const limit = Math.max(0, half + Math.sqrt(Math.max(0, half * half + rest)));
  return { Q, limit, allowed: Math.floor(limit * (1 + 1e-12) + 1e-9), half, rest };
}
const less = (a, b) => (Math.abs(a - b) > 1e-12 * (Math.abs(a) + Math.abs(b)) ? a - b : 0); // 0 where only rounding is left

// Every step of the proof along a run: for k = 0, 1, … what w·u, ‖w‖² and the angle are, and what bounds them.
export function proofSteps(run, margin, settings) {
  const { machines, width, offset, eta } = run, size = width + 1, u = margin.w, m = settings.mistake === "violation" ? settings.update_margin : 0;
  const along = (w) => { let sum = 0; for (let c = 0; c < machines; c++) for (let j = 0; j < width + offset; j++) sum += w[c * size + j] * u[c][j]; return sum; };
  const start = along(run.first), square = norm(run.first, machines, width, true) ** 2;
  const limits = bound({ radius: run.radius, offset, many: machines > 1, eta, updateMargin: m, margin: margin.margin, along: start, square });
  const step = eta * eta * limits.Q + 2 * eta * m, found = { progress: [], growth: [], progressBound: [], growthBound: [], cosine: [], cosineBound: [] };
  let holds = true;
  for (let k = 0; k <= run.mistakes; k++) {
    const w = run.weightsAt(k), progress = along(w), growth = norm(w, machines, width, true) ** 2, length = Math.sqrt(growth);
    const low = start + k * eta * margin.margin, high = square + k * step;
    found.progress.push(progress);
    found.growth.push(growth);
    found.progressBound.push(low);
    found.growthBound.push(high);
    found.cosine.push(length ? progress / length : null);
    found.cosineBound.push(high ? Math.max(-1, Math.min(1, low / Math.sqrt(high))) : null);
    const slack = 1e-9 * (1 + Math.abs(high) + Math.abs(low));
    holds &&= progress >= low - slack && growth <= high + slack && progress <= length + slack;
  }
  return { ...found, ...limits, start, square, holds: holds && run.mistakes <= limits.limit * (1 + 1e-9) + 1e-9, margin: margin.margin, step };
}
// Of a run alone, for k = 0, 1, …: ‖w − w₀‖/(ηk), at every moment an upper bound on γ; ‖w‖², and what bounds it.
export function growthOf(run, settings) {
  const { machines, width, eta } = run, m = settings.mistake === "violation" ? settings.update_margin : 0, square = norm(run.first, machines, width, true) ** 2;
  const step = eta * eta * (run.radius ** 2 + run.offset) * (machines > 1 ? 2 : 1) + 2 * eta * m, running = [null], growth = [square], growthBound = [square];
  for (let k = 1; k <= run.mistakes; k++) {
    const w = run.weightsAt(k);
    running.push(norm(w.map((v, j) => v - run.first[j]), machines, width, true) / (eta * k));
    growth.push(norm(w, machines, width, true) ** 2);
    growthBound.push(square + k * step);
  }
  return { running, growth, growthBound };
}
