// Gordan's alternative, decided exactly: some direction g has g·z > 0 for all rows z and g·t = 0 for all fixed rows t; or
// nonnegative multipliers, not all 0, of the rows z and any of the rows t add up to 0. All numbers are BigInts.
//
// Phase 1 of the simplex method on Σ λ z + Σ c t = 0, Σ λ = 1, with the lexicographic rule, which cannot cycle (Dantzig, Orden
// & Wolfe 1955). The inverse of the basis is kept as whole numbers over one denominator, its determinant (Edmonds 1967).
// Floats suggest which row enters; exact arithmetic decides.

export const dot = (u, v) => { let sum = 0n; for (let j = 0; j < u.length; j++) if (u[j] && v[j]) sum += u[j] * v[j]; return sum; };

// Floats in the proportions of some whole numbers, of size about 1.
export function floats(cells) {
  let bits = 0;
  for (const cell of cells) bits = Math.max(bits, cell < 0n ? (-cell).toString(16).length : cell.toString(16).length);
  const shift = BigInt(Math.max(0, 4 * bits - 200)), values = Float64Array.from(cells, (cell) => Number(cell >> shift));
  let size = 0;
  for (const value of values) size = Math.max(size, Math.abs(value));
  return size ? values.map((value) => value / size) : values;
}

export class OutOfTime extends Error {}

// Returns {direction}, or {rows: [[j, λ]], fixed: [[j, c]]} with whole numbers λ > 0 and c ≠ 0.
export function gordan(rows, fixed, width, deadline = Infinity) {
  const m = width + 1, n = rows.length, columns = [];
  for (const z of rows) columns.push([...z, 1n]);
  for (const t of fixed) columns.push([...t, 0n], [...t.map((v) => -v), 0n]);
  const near = columns.map(floats);
  const basis = new Int32Array(m).fill(-1); // columns; −1 is an artificial one
  const inverse = Array.from({ length: m }, (_, i) => Array.from({ length: m }, (_, j) => (i === j ? 1n : 0n)));
  let det = 1n;
  for (let count = 0; ; count++) {
    if (performance.now() > deadline) throw new OutOfTime("the exact search ran out of time");
    const dual = Array(m).fill(0n);
    for (let i = 0; i < m; i++) if (basis[i] < 0) for (let j = 0; j < m; j++) dual[j] += inverse[i][j];
    const enter = entering(columns, near, dual);
    if (enter < 0) {
      if (dual[width] > 0n) return { direction: dual.slice(0, width).map((v) => -v) };
      break;
    }
    const change = inverse.map((row) => dot(row, columns[enter]));
    const leave = leaving(inverse, change, width), pivot = change[leave], fixedRow = inverse[leave];
    for (let i = 0; i < m; i++) {
      if (i === leave) continue;
      const factor = change[i], row = inverse[i];
      for (let j = 0; j < m; j++) row[j] = (pivot * row[j] - factor * fixedRow[j]) / det;
    }
    det = pivot;
    basis[leave] = enter;
  }
  const found = { rows: [], fixed: [] }, sums = new Map();
  basis.forEach((column, i) => {
    const value = inverse[i][width]; // of its variable, times the determinant
    if (column < 0 || !value) return;
    if (column < n) found.rows.push([column, value]);
    else sums.set((column - n) >> 1, (sums.get((column - n) >> 1) ?? 0n) + ((column - n) % 2 ? -value : value));
  });
  found.fixed = [...sums].filter(([, value]) => value);
  return found;
}

function entering(columns, near, dual) { // a column with dual·column > 0, by floats the best; −1 if there is none
  const y = floats(dual), doubtful = [];
  let best = -1, most = 1e-9;
  for (let j = 0; j < near.length; j++) {
    const a = near[j];
    let value = 0, size = 0;
    for (let i = 0; i < y.length; i++) { value += y[i] * a[i]; size += a[i] * a[i]; }
    value /= Math.sqrt(size) || 1;
    if (value > most) { best = j; most = value; }
    if (Math.abs(value) < 1e-6) doubtful.push(j);
  }
  if (best >= 0 && dot(dual, columns[best]) > 0n) return best;
  for (const j of doubtful) if (dot(dual, columns[j]) > 0n) return j;
  return -1;
}

function leaving(inverse, change, width) { // the row with the lexicographically smallest ratio
  let best = -1;
  for (let i = 0; i < change.length; i++) {
    if (change[i] <= 0n) continue;
    if (best < 0) { best = i; continue; }
    for (const j of [width, ...inverse.keys()]) {
      const difference = inverse[i][j] * change[best] - inverse[best][j] * change[i];
      if (difference === 0n) continue;
      if (difference < 0n) best = i;
      break;
    }
  }
  return best;
}

// The rows that some rows span, as a test: an echelon form that grows.
export class Span {
  constructor() { this.rows = []; } // [column of the pivot, row]
  rest(row) { // what is left of a row, null if nothing
    let left = row;
    for (const [at, pivot] of this.rows) {
      const factor = left[at];
      if (factor) left = left.map((v, j) => v * pivot[at] - pivot[j] * factor);
    }
    return left.some((v) => v) ? left : null;
  }
  add(row) {
    const left = this.rest(row);
    if (left) this.rows.push([left.findIndex((v) => v), shortened(left)]);
    return left !== null;
  }
}
export function shortened(cells) { // without the common factor
  let common = 0n;
  for (const cell of cells) for (let a = cell < 0n ? -cell : cell; a; [common, a] = [a, common % a]);
  return common > 1n ? cells.map((cell) => cell / common) : cells;
}
