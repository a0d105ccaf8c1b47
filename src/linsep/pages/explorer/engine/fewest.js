// How far from separable: the fewest rows that any plane gets wrong; a row on the plane counts as wrong.
//
// Two classes in one or two columns: exactly. A line can be moved until it goes through two points without changing what it
// gets right, except for the points that it then meets. So lines through every point, turned all the way round, see all cases. With
// more columns or classes: what some planes get wrong is an upper bound, and disjoint contradictions are a lower bound.

import { wholeRow } from "../../checker/exact.js";
import { inequalities } from "./verdict.js";
import { OutOfTime, gordan } from "./simplex.js";
import { largestMargin } from "./margin.js";
import { survey, train } from "./run.js";
import { usual } from "./settings.js";

const MOST_POINTS = 600; // that are swept exactly

// Points of the plane as vectors [x, y, X, Y]: floats, and whole numbers over a common denominator, which are asked only where floats
// cannot tell.
function exactPoints(rows) {
  const flat = rows.flatMap((row) => [row[0], row.length > 1 ? row[1] : 0]), { cells } = wholeRow(flat, "binary");
  return rows.map((_, i) => [flat[2 * i], flat[2 * i + 1], cells[2 * i], cells[2 * i + 1]]);
}
const difference = (p, q) => [p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]];
const isZero = ([x, y, X, Y]) => !x && !y && !X && !Y;
function turn(u, v) { // the sign of the cross product
  const left = u[0] * v[1], right = u[1] * v[0], near = left - right;
  if (Math.abs(near) > 1e-14 * (Math.abs(left) + Math.abs(right))) return near > 0 ? 1 : -1;
  const exact = u[2] * v[3] - u[3] * v[2];
  return exact > 0n ? 1 : exact < 0n ? -1 : 0;
}

// The fewest errors of lines through the origin: turned round, they part the points at the angles between them.
function sweepOrigin(points, codes) {
  const zeros = [], spokes = [];
  points.forEach((p, i) => (isZero(p) ? zeros.push(i) : spokes.push(spoke(p, i))));
  const groups = grouped(spokes), left = sides(spokes);
  let best = null;
  for (let g = 0; g <= groups.length; g++) {
    best = better(best, left, spokes.map(({ i }) => i), codes, zeros);
    if (g < groups.length) for (const { i, ahead } of groups[g]) if (ahead) left.delete(i); else left.add(i);
  }
  return best ?? { count: zeros.length, wrong: zeros };
}
function spoke(direction, i) { // pointed to the upper half plane; `ahead` if it was there
  const [, , X, Y] = direction, ahead = Y > 0n || (Y === 0n && X > 0n);
  return { i, ahead, along: ahead ? direction : direction.map((v) => -v) };
}
function grouped(spokes) { // by angle
  const groups = [];
  for (const one of [...spokes].sort((p, q) => -turn(p.along, q.along))) {
    const last = groups.at(-1);
    if (last && !turn(last[0].along, one.along)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}
const sides = (spokes) => new Set(spokes.filter(({ ahead }) => ahead).map(({ i }) => i)); // to the left of a line just before the first angle

function better(best, left, all, codes, zeros) { // errors if the left side is class 1, or class 0
  for (const positive of [1, 0]) {
    const wrong = all.filter((i) => (left.has(i) ? positive : 1 - positive) !== codes[i]);
    if (!best || wrong.length + zeros.length < best.count) best = { count: wrong.length + zeros.length, wrong: [...wrong, ...zeros] };
  }
  return best;
}

// The fewest errors of any line: around each point, and for the points that a line meets all ways to part them.
function sweepLines(points, codes) {
  const n = points.length, ones = codes.reduce((sum, code) => sum + code, 0);
  let best = { count: Math.min(ones, n - ones), pivot: -1 }; // all points on one side
  for (let p = 0; p < n; p++) {
    const spokes = [], same = [];
    for (let i = 0; i < n; i++) {
      const direction = difference(points[i], points[p]);
      if (isZero(direction)) same.push(i);
      else spokes.push(spoke(direction, i));
    }
    const counts = [0, 0]; // of each class on the left
    for (const { i, ahead } of spokes) if (ahead) counts[codes[i]]++;
    for (const [g, group] of grouped(spokes).entries()) {
      const onLine = [0, 0];
      for (const { i } of group) onLine[codes[i]]++;
      for (const i of same) onLine[codes[i]]++;
      for (const { i, ahead } of group) if (ahead) counts[codes[i]]--;
      // strictly left are `counts`; strictly right is the rest
      const right = [n - ones - counts[0] - onLine[0], ones - counts[1] - onLine[1]], places = alongLine(group, same);
      const head = [0, 0];
      for (let cut = 0; cut <= places.length; cut++) {
        const tail = [onLine[0] - head[0], onLine[1] - head[1]];
        for (const [a, b] of [[head, tail], [tail, head]]) { // these go to the left, those to the right
          const errors = counts[0] + a[0] + right[1] + b[1], least = Math.min(errors, n - errors);
          if (least < best.count) best = { count: least, pivot: p, group: g, cut, headLeft: a === head, positive: errors <= n - errors ? 1 : 0 };
        }
        for (const i of places[cut] ?? []) head[codes[i]]++;
      }
      for (const { i, ahead } of group) if (!ahead) counts[codes[i]]++;
    }
  }
  return { count: best.count, wrong: wrongOf(best, points, codes) };
}
function alongLine(group, same) { // points on a line in order, equal ones together
  const far = ({ along: [, , X, Y], ahead }) => (ahead ? 1n : -1n) * ((X < 0n ? -X : X) + Y);
  const places = new Map([[0n, [...same]]]);
  for (const one of group) { const at = far(one); places.set(at, [...(places.get(at) ?? []), one.i]); }
  return [...places].sort((p, q) => (p[0] < q[0] ? -1 : 1)).map(([, rows]) => rows);
}
function wrongOf(best, points, codes) { // the rows that the best line has wrong
  const n = points.length, ones = codes.reduce((sum, code) => sum + code, 0);
  if (best.pivot < 0) return [...codes.keys()].filter((i) => codes[i] === (2 * ones < n ? 1 : 0)).slice(0, best.count);
  const p = best.pivot, spokes = [], same = [];
  for (let i = 0; i < n; i++) {
    const direction = difference(points[i], points[p]);
    if (isZero(direction)) same.push(i);
    else spokes.push(spoke(direction, i));
  }
  const groups = grouped(spokes), left = sides(spokes);
  groups.slice(0, best.group).flat().forEach(({ i, ahead }) => (ahead ? left.delete(i) : left.add(i)));
  alongLine(groups[best.group], same).forEach((rows, t) => rows.forEach((i) => (t < best.cut === best.headLeft ? left.add(i) : left.delete(i))));
  return [...codes.keys()].filter((i) => (left.has(i) ? best.positive : 1 - best.positive) !== codes[i]);
}

// Returns {lower, upper, rows, w}: the bounds, the rows that the best plane known has wrong, and that plane.
export function fewestErrors(space, codes, classes, offset, guesses, seconds = 0.25) {
  const { rows } = space, n = rows.length, machines = classes > 2 ? classes : 1;
  let best = null;
  if (classes === 2 && rows[0].length <= 2 && n <= MOST_POINTS) {
    const points = exactPoints(rows), { count, wrong } = (offset ? sweepLines : sweepOrigin)(points, Array.from(codes));
    best = { lower: count, upper: count, rows: wrong.sort((p, q) => p - q) };
  } else {
    best = { lower: 1, upper: Infinity, rows: [] };
    const none = new Uint8Array(n), tried = ["best", "average"].map((keep) => train(space, codes, classes, { ...usual(), keep, fit_intercept: Boolean(offset), order: "shuffled", max_iter: 100 }, none).kept);
    for (const w of [...guesses, ...tried]) {
      const wrong = [...codes.keys()].filter((i) => survey(space, codes, [i], machines, w, -1).smallest <= 0);
      if (wrong.length < best.upper) best = { ...best, upper: wrong.length, rows: wrong };
    }
    for (let c = 0; offset && c < classes; c++) { // what is left of one class is separable
      const others = [...codes.keys()].filter((i) => codes[i] !== c);
      if (others.length < best.upper) best = { ...best, upper: others.length, rows: others };
    }
    best.lower = Math.min(best.upper, disjoint(rows, codes, classes, offset, performance.now() + 1000 * seconds));
  }
  const wrong = new Set(best.rows), kept = [...codes.keys()].filter((i) => !wrong.has(i));
  const left = new Set(kept.map((i) => codes[i]));
  const margin = left.size === classes ? largestMargin(kept.map((i) => rows[i]), kept.map((i) => codes[i]), classes, offset ? "affine" : "origin") : null;
  return { ...best, w: margin?.w ?? null };
}
// How many contradictions without a common row are found: each needs another row to be wrong.
function disjoint(rows, codes, classes, offset, deadline) {
  let left = inequalities(rows, codes, classes, offset), count = 0;
  try {
    for (;;) {
      if (!left.length) return Math.max(1, count);
      const { rows: found } = gordan(left.map(({ cells }) => cells), [], left[0].cells.length, deadline);
      if (!found) return Math.max(1, count);
      count++;
      const used = new Set(found.map(([j]) => left[j].row));
      left = left.filter(({ row }) => !used.has(row));
    }
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    return Math.max(1, count);
  }
}
