// Where points are drawn: one or two columns as they are; of more, a projection along w and along what varies most across it.

const inner = (u, v) => u.reduce((sum, a, j) => sum + a * v[j], 0);
const unit = (v) => { const size = Math.sqrt(inner(v, v)); return v.map((a) => a / size); };

// The direction in which rows vary most, by the power method.
function mostVaried(rows) {
  let v = rows[0].map((_, j) => 1 + 0.01 * j);
  for (let t = 0; t < 200; t++) {
    const next = v.map(() => 0);
    for (const row of rows) { const along = inner(row, v); row.forEach((a, j) => { next[j] += along * a; }); }
    if (!(inner(next, next) > 0)) break;
    v = unit(next);
  }
  const sign = v.reduce((most, a) => (Math.abs(a) > Math.abs(most) ? a : most), 0) < 0 ? -1 : 1; // the sign is free: fix it
  return unit(v).map((a) => sign * a);
}

// {origin, basis, axes, said}: a row x is drawn at basis (x − origin).
export function viewOf(rows, names, w) {
  const d = rows[0]?.length ?? 2;
  if (d <= 2) return { kind: "columns", origin: Array(d).fill(0), basis: [[1, 0].slice(0, d), [0, 1].slice(0, d)], axes: [names[0] ?? "", d === 2 ? names[1] : ""], said: "" };
  const origin = rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j] / rows.length, 0)), basis = [];
  let centered = rows.map((row) => row.map((v, j) => v - origin[j]));
  const flatten = (direction) => { centered = centered.map((row) => { const along = inner(row, direction); return row.map((v, j) => v - along * direction[j]); }); };
  if (w?.some((v) => v)) basis.push(unit(Array.from(w)));
  while (basis.length < 2) { if (basis.length) flatten(basis[0]); basis.push(mostVaried(centered)); }
  return {
    kind: "projection", origin, basis, axes: w ? ["along the last w", "most varied across it"] : ["1st principal axis", "2nd principal axis"],
    said: `${d} columns, projected: points may look misplaced, lines are cuts through the view. A point moves within the view; Fit turns the view to the new run.`,
  };
}
export const onto = (row, { origin, basis }) => basis.map((axis) => axis.reduce((sum, v, j) => sum + v * (row[j] - origin[j]), 0));
export const rowAt = ([s, t], { origin, basis }) => origin.map((v, j) => v + s * basis[0][j] + t * basis[1][j]);
// Weights (offset last) as they cut the view: two weights and an offset.
export const cutOf = (w, { origin, basis }) => [...basis.map((axis) => axis.reduce((sum, v, j) => sum + v * w[j], 0)), w.at(-1) + origin.reduce((sum, v, j) => sum + v * w[j], 0)];
