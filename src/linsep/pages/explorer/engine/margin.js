// The largest margin: the point of a convex hull that is nearest to the origin, by Wolfe's algorithm (1976).
//
// The hull is known by its oracle only: the vertex that goes least along a direction. Origin form: the y x. Augmented: those of
// the points (x, 1). Affine: differences of a point of one class and one of another; of more classes, cycles of them, since the
// offsets are free: where the mean over a cycle of classes is least (Karp 1978).

const inner = (u, v) => { let sum = 0; for (let j = 0; j < u.length; j++) sum += u[j] * v[j]; return sum; };

// Solves a small symmetric system by elimination with pivots; null if it is singular.
function solve(matrix, right) {
  const n = right.length, a = matrix.map((row, i) => [...row, right[i]]);
  for (let k = 0; k < n; k++) {
    let p = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[p][k])) p = i;
    if (Math.abs(a[p][k]) < 1e-300) return null;
    [a[k], a[p]] = [a[p], a[k]];
    for (let i = k + 1; i < n; i++) {
      const factor = a[i][k] / a[k][k];
      if (factor) for (let j = k; j <= n; j++) a[i][j] -= factor * a[k][j];
    }
  }
  for (let k = n - 1; k >= 0; k--) {
    for (let j = k + 1; j < n; j++) a[k][n] -= a[k][j] * a[j][n];
    a[k][n] /= a[k][k];
  }
  return a.map((row) => row[n]);
}

// Returns {point, atoms}; `oracle(direction)` returns {key, vector, …}.
export function nearestPoint(oracle, start, steps = 5000) {
  let atoms = [start], weights = [1], point = start.vector.slice();
  const combine = () => point.map((_, j) => atoms.reduce((sum, { vector }, a) => sum + weights[a] * vector[j], 0));
  for (let count = 0; count < steps; count++) {
    const next = oracle(point), square = inner(point, point);
    const scale = Math.max(...atoms.map(({ vector }) => inner(vector, vector)), inner(next.vector, next.vector));
    if (square - inner(point, next.vector) <= 1e-13 * square || square <= 1e-28 * scale || atoms.some(({ key }) => key === next.key)) break;
    atoms.push(next);
    weights.push(0);
    for (;;) { // the nearest point of the affine hull, or as far toward it as the hull goes
      const size = atoms.length, unit = scale || 1;
      const gram = atoms.map((p) => atoms.map((q) => inner(p.vector, q.vector) / unit + 1));
      const solved = solve(gram, Array(size).fill(1));
      if (!solved) { atoms.pop(); return { point: refined(point, atoms), atoms }; }
      const total = solved.reduce((sum, v) => sum + v, 0), wanted = solved.map((v) => v / total);
      if (wanted.every((v) => v > 1e-14)) { weights = wanted; break; }
      let step = 1;
      wanted.forEach((v, a) => { if (v <= 1e-14 && weights[a] > v) step = Math.min(step, weights[a] / (weights[a] - v)); });
      weights = weights.map((v, a) => v + step * (wanted[a] - v));
      const kept = weights.map((v) => v > 1e-14);
      if (kept.every(Boolean)) kept[weights.indexOf(Math.min(...weights))] = false;
      atoms = atoms.filter((_, a) => kept[a]);
      weights = weights.filter((_, a) => kept[a]);
      if (atoms.length === 1) { weights = [1]; break; }
    }
    point = combine();
  }
  return { point: refined(point, atoms), atoms };
}
// The point with its last digits right: with w = point/‖point‖², all atoms of it have atom·w = 1 (iterative refinement).
function refined(point, atoms) {
  const gram = atoms.map((p) => atoms.map((q) => inner(p.vector, q.vector))), square = inner(point, point);
  let w = point.map((v) => v / square), best = Infinity, found = point;
  for (let round = 0; round < 4; round++) {
    const rest = atoms.map(({ vector }) => 1 - inner(vector, w)), size = Math.max(...rest.map(Math.abs));
    if (size < best) { best = size; const long = inner(w, w); found = w.map((v) => v / long); }
    const solved = solve(gram, rest);
    if (!solved || !solved.every(Number.isFinite)) break;
    w = w.map((v, j) => v + atoms.reduce((sum, { vector }, a) => sum + solved[a] * vector[j], 0));
  }
  return found;
}

// The largest margin of rows that a plane separates: {form, margin, upper, w: weights per machine with offsets last, support};
// null where double precision finds none. `classes` > 2: all weights together have length 1.
export function largestMargin(rows, codes, classes, form) {
  if (classes > 2) return manyClasses(rows, codes, classes, form);
  const d = rows[0].length;
  if (form !== "affine") {
    const one = form === "augmented" ? [1] : [], signed = rows.map((row, i) => Float64Array.from([...row, ...one], (v) => (codes[i] ? v : -v)));
    const oracle = (p) => {
      let best = 0, least = Infinity;
      signed.forEach((z, i) => { const value = inner(p, z); if (value < least) { least = value; best = i; } });
      return { key: best, vector: signed[best], rows: [best] };
    };
    const { point, atoms } = nearestPoint(oracle, oracle(mean(signed))), length = Math.sqrt(inner(point, point));
    const w = Array.from(point, (v) => v / length), least = Math.min(...signed.map((z) => inner(w, z)));
    return least > 0 ? { form, margin: least, upper: length, w: [form === "augmented" ? w : [...w, 0]], support: support(atoms) } : null;
  }
  const groups = [0, 1].map((c) => [...codes.keys()].filter((i) => codes[i] === c));
  const extreme = (p, c) => { // of class 0 the farthest along p, of class 1 the least far
    let best = -1, least = Infinity;
    for (const i of groups[c]) { const value = (c ? 1 : -1) * inner(p, rows[i]); if (value < least) { least = value; best = i; } }
    return best;
  };
  const oracle = (p) => {
    const [i, j] = [extreme(p, 1), extreme(p, 0)];
    return { key: `${i} ${j}`, vector: Float64Array.from(rows[i], (v, k) => v - rows[j][k]), rows: [i, j] };
  };
  const toward = mean(groups[1].map((i) => rows[i])).map((v, k) => v - groups[0].reduce((sum, i) => sum + rows[i][k], 0) / groups[0].length);
  const { point, atoms } = nearestPoint(oracle, oracle(toward)), length = Math.sqrt(inner(point, point));
  if (!length) return null;
  const w = Array.from(point, (v) => v / length), high = inner(w, rows[extreme(w, 1)]), low = inner(w, rows[extreme(w, 0)]);
  return high > low ? { form, margin: (high - low) / 2, upper: length / 2, w: [[...w, -(high + low) / 2]], support: support(atoms) } : null;
}
const mean = (rows) => Array.from(rows[0], (_, j) => rows.reduce((sum, row) => sum + row[j] / rows.length, 0));
const support = (atoms) => [...new Set(atoms.flatMap(({ rows }) => rows))].sort((p, q) => p - q);

function manyClasses(rows, codes, classes, form) {
  const points = form === "augmented" ? rows.map((row) => [...row, 1]) : rows, d = points[0].length;
  const pairs = (p) => { // of each class c and rival r the row with the least lead: [row, lead]
    const least = Array.from({ length: classes }, () => Array(classes).fill(null));
    points.forEach((x, i) => {
      const scores = Array.from({ length: classes }, (_, c) => { let sum = 0; for (let j = 0; j < d; j++) sum += p[c * d + j] * x[j]; return sum; });
      const c = codes[i];
      for (let r = 0; r < classes; r++) if (r !== c && (!least[c][r] || scores[c] - scores[r] < least[c][r][1])) least[c][r] = [i, scores[c] - scores[r]];
    });
    return least;
  };
  const atom = (edges) => { // [class, rival, row] each
    const vector = new Float64Array(classes * d);
    for (const [c, r, i] of edges) for (let j = 0; j < d; j++) { vector[c * d + j] += points[i][j] / edges.length; vector[r * d + j] -= points[i][j] / edges.length; }
    return { key: edges.map(String).sort().join(" "), vector, rows: edges.map(([, , i]) => i) };
  };
  const oracle = (p) => {
    const least = pairs(p);
    if (form === "affine") return atom(leastMeanCycle(least));
    let best = null;
    least.forEach((line, c) => line.forEach((found, r) => { if (found && (!best || found[1] < best[0])) best = [found[1], [c, r, found[0]]]; }));
    return atom([best[1]]);
  };
  const first = new Float64Array(classes * d);
  points.forEach((x, i) => { for (let j = 0; j < d; j++) first[codes[i] * d + j] += x[j] / points.length; });
  const { point, atoms } = nearestPoint(oracle, oracle(first)), length = Math.sqrt(inner(point, point));
  if (!length) return null;
  const p = Array.from(point, (v) => v / length), least = pairs(p);
  const offsets = form === "affine" ? potentials(least, length) : Array(classes).fill(0);
  let margin = Infinity;
  least.forEach((line, c) => line.forEach((found, r) => { if (found) margin = Math.min(margin, found[1] + offsets[c] - offsets[r]); }));
  const w = offsets.map((b, c) => (form === "augmented" ? p.slice(c * d, (c + 1) * d) : [...p.slice(c * d, (c + 1) * d), b]));
  return margin > 0 ? { form, margin, upper: length, w, support: support(atoms) } : null;
}

// The cycle of classes whose mean lead is least, as [class, rival, row] (Karp 1978).
function leastMeanCycle(least) {
  const n = least.length, walks = [Array(n).fill(0)], parents = [];
  for (let k = 1; k <= n; k++) {
    walks.push(Array(n).fill(Infinity));
    parents.push(Array(n).fill(-1));
    for (let c = 0; c < n; c++) for (let r = 0; r < n; r++) {
      if (c === r || !least[c][r]) continue;
      const value = walks[k - 1][c] + least[c][r][1];
      if (value < walks[k][r]) { walks[k][r] = value; parents[k - 1][r] = c; }
    }
  }
  let best = null;
  for (let end = 0; end < n; end++) { // the cycles on the cheapest walks
    const path = [end];
    for (let k = n; k > 0; k--) path.unshift(parents[k - 1][path[0]]);
    for (let from = 0; from < n; from++) {
      const to = path.indexOf(path[from], from + 1);
      if (to < 0) continue;
      const edges = path.slice(from, to).map((c, t) => [c, path[from + t + 1], least[c][path[from + t + 1]][0]]);
      const value = edges.reduce((sum, [c, r]) => sum + least[c][r][1], 0) / edges.length;
      if (!best || value < best[0]) best = [value, edges];
    }
  }
  return best[1];
}
// Offsets with which every class leads every rival by the margin, as far as can be: shortest distances (Bellman & Ford).
function potentials(least, margin) {
  const n = least.length, offsets = Array(n).fill(0);
  for (let round = 0; round < n; round++) {
    for (let c = 0; c < n; c++) for (let r = 0; r < n; r++) if (c !== r && least[c][r]) offsets[r] = Math.min(offsets[r], offsets[c] + least[c][r][1] - margin);
  }
  const middle = offsets.reduce((sum, b) => sum + b / n, 0);
  return offsets.map((b) => b - middle);
}
