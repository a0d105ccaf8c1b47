// The examples of the page: points, settings, and what there is to see in them.

import { simpleRandom } from "../engine/random.js";
import { IRIS } from "./iris.js";

const short = (v) => Math.round(v * 256) / 256; // short binary fractions: short proofs
const cloud = (random, [x, y], spread) => [short(x + spread * random.normal()), short(y + spread * random.normal())];
function clouds(centers, spread, each, seed) {
  const random = simpleRandom(seed), rows = [], labels = [];
  centers.forEach((center, c) => { for (let i = 0; i < each; i++) { rows.push(cloud(random, center, spread)); labels.push(c); } });
  return { rows, labels };
}
const signs = ({ rows, labels }) => ({ rows, labels: labels.map((c) => 2 * c - 1) });

// Points of the unit disc that a hidden line through the origin parts with a margin.
function taught(margin, seed, n = 40) {
  const random = simpleRandom(seed + 11), angle = 2 * Math.PI * random.uniform(), u = [Math.cos(angle), Math.sin(angle)], rows = [], labels = [];
  while (rows.length < n) {
    const p = [short(2 * random.uniform() - 1), short(2 * random.uniform() - 1)], s = u[0] * p[0] + u[1] * p[1];
    if (Math.hypot(...p) > 1 || Math.abs(s) < margin) continue;
    rows.push(p);
    labels.push(s > 0 ? 1 : -1);
  }
  return { rows, labels };
}

export const PRESETS = {
  worked: {
    title: "Worked example", said: "Two mistakes, and the bound R²/γ² is two: the run attains it.",
    make: () => ({ points: { rows: [[1, 0], [0, -1], [0, 1], [-1, 0]], labels: [1, -1, 1, -1] }, settings: { fit_intercept: false } }),
  },
  teacher: {
    title: "Teacher with your margin", said: "A hidden plane gave the labels. The smaller the margin, the more mistakes the bound allows.",
    make: ({ margin = 0.15, seed = 0 } = {}) => ({ points: taught(margin, seed), settings: { fit_intercept: false } }),
  },
  basis: {
    title: "Basis vectors attain the bound", said: "The unit vectors of eight columns: u = (1, …, 1)/√8 has the margin 1/√8, the bound is 8, and the run makes a mistake on every point.",
    make: () => ({ points: { rows: Array.from({ length: 8 }, (_, i) => Array.from({ length: 8 }, (_, j) => (i === j ? (i % 2 ? -1 : 1) : 0))), labels: Array.from({ length: 8 }, (_, i) => (i % 2 ? -1 : 1)) }, settings: { fit_intercept: false } }),
  },
  order: {
    title: "A hard order", said: "The points of one class come first, then those of the other: 244 mistakes. Choose the order shuffled and compare.",
    make: () => { const { rows, labels } = taught(0.02, 13), sort = [...labels.keys()].sort((p, q) => labels[p] - labels[q] || rows[p][0] - rows[q][0]); return { points: { rows: sort.map((i) => rows[i]), labels: sort.map((i) => labels[i]) }, settings: { fit_intercept: false } }; },
  },
  learning: {
    title: "AND, and a neuron that learns it", said: "The figure of many lectures: a neuron fires for (1, 1) alone. Step visit by visit and watch the line turn.",
    make: () => ({ points: { rows: [[0, 0], [0, 1], [1, 0], [1, 1]], labels: [-1, -1, -1, 1] }, settings: {} }),
  },
  xor: {
    title: "XOR", said: "Exclusive or: the diagonals cross, so no line separates their ends. With the features x², xy a plane does.",
    make: () => ({ points: { rows: [[0, 0], [1, 1], [0, 1], [1, 0]], labels: [-1, -1, 1, 1] }, settings: { max_updates: 200 } }),
  },
  xorSolved: {
    title: "XOR, solved by x·y", said: "With the column x·y more, a plane separates what no line does; in the picture it is a curve.",
    make: () => ({ points: { rows: [[0, 0], [1, 1], [0, 1], [1, 0]], labels: [-1, -1, 1, 1] }, settings: { features: "quadratic" } }),
  },
  rings: {
    title: "A ring around a disc", said: "The rbf kernel draws a closed curve; α says how often each point was a mistake.",
    make: () => {
      const random = simpleRandom(5), rows = [], labels = [];
      for (let i = 0; i < 50; i++) { const far = i % 2 ? 1.2 + 0.15 * random.normal() : 0.45 * Math.sqrt(random.uniform()), turn = 2 * Math.PI * random.uniform(); rows.push([short(far * Math.cos(turn)), short(far * Math.sin(turn))]); labels.push(i % 2 ? 1 : -1); }
      return { points: { rows, labels }, settings: { features: "rbf kernel", gamma: 2 } };
    },
  },
  overfitting: {
    title: "Overfitting", said: "A fifth of the training labels is wrong, and half of the points are held out. A narrow kernel learns the noise: no training error, but a larger test error. Compare with features “columns” and keep “average”.",
    make: () => ({ points: signs(clouds([[-0.8, -0.4], [0.8, 0.4]], 0.6, 60, 8)), settings: { features: "rbf kernel", gamma: 20, noise: 0.2, hold_out: 0.5, max_iter: 30, order: "shuffled" } }),
  },
  touching: {
    title: "Two touching classes", said: "Only one line has no point on the wrong side, and three points lie on it.",
    make: () => ({ points: { rows: [[-1.5, 0.5], [-1, -0.75], [-0.75, 1], [0, -0.5], [0, 0.75], [0, 0.125], [0.75, 0.75], [1, -0.5], [1.5, 0.25]], labels: [-1, -1, -1, -1, -1, 1, 1, 1, 1] }, settings: { max_updates: 300 } }),
  },
  duplicate: {
    title: "One contradicting duplicate", said: "One point has both labels. Move one copy, and a line separates the classes.",
    make: () => { const { rows, labels } = signs(clouds([[-1, -0.5], [1, 0.5]], 0.3, 10, 3)); return { points: { rows: [...rows, [0.25, 0.25], [0.25, 0.25]], labels: [...labels, 1, -1] }, settings: { max_updates: 300 } }; },
  },
  averaged: {
    title: "Average against last", said: "Overlapping clouds: the last weights jump about for ever, their average (dotted) stands still and errs less on held-out points.",
    make: () => ({ points: signs(clouds([[-0.5, -0.3], [0.5, 0.3]], 0.45, 50, 21)), settings: { keep: "average", hold_out: 0.4, max_iter: 40, order: "shuffled" } }),
  },
  three: {
    title: "Three classes", said: "One weight vector per class; the highest score wins.",
    make: () => ({ points: clouds([[-1.2, -0.8], [1.2, -0.7], [0, 1.2]], 0.3, 12, 1), settings: {} }),
  },
  five: {
    title: "Five classes", said: "A plane separates each class from all others.",
    make: () => ({ points: clouds(Array.from({ length: 5 }, (_, c) => [1.5 * Math.cos(1.2566 * c + 0.3), 1.5 * Math.sin(1.2566 * c + 0.3)]), 0.2, 8, 2), settings: {} }),
  },
  iris: {
    title: "Iris", said: "Fisher's iris (1936), four columns. Setosa lies apart; the other two overlap.",
    make: () => ({ points: { rows: IRIS.map((line) => line.slice(0, 4)), labels: IRIS.map((line) => ["setosa", "versicolor", "virginica"][line[4]]), names: ["sepal length", "sepal width", "petal length", "petal width"] }, settings: { max_updates: 1000 } }),
  },
  scaled: {
    title: "Badly scaled columns", said: "One column is a hundred times the other: just as separable, but with many more mistakes.",
    make: () => { const { rows, labels } = taught(0.1, 12, 30); return { points: { rows: rows.map(([x, y]) => [x, 100 * y]), labels }, settings: { fit_intercept: false } }; },
  },
};
