// The check of the fewest errors: a plane with the rows it has not right, and a tree of cases in each of which refutations
// show how many errors every plane makes. From the page on the format of proofs; all in whole numbers.

import { Fails, Malformed, dot, fraction, gcd, whole } from "./exact.js";

const UNIT = 1n << 20n; // weights of packings are whole numbers of 1/UNIT
const MOST_SPLITS = 1000; // splits on the way to a leaf

// Tells of the plane and of the tree: two steps of title and sentence. `exact(i)` is row i with the offset's 1, {cells, scale}.
export async function checkFewest(claim, codes, exact, patience) {
  const { lower, upper, wrong, table, nodes } = claim.fewest, weights = claim.fewest.weights ?? codes.map(() => 1);
  if (weights.length !== codes.length) throw new Fails("there is not a weight for every row");
  const named = new Set([...table.flatMap(({ rows }) => rows), ...nodes.filter(({ word }) => word === "split").map(({ row }) => row)]);
  for (const i of named) if (i >= codes.length) throw new Fails(`row ${i} is named, which there is not`);
  const groups = new Map(), cost = new Map(), of = new Map();
  const key = (i, { cells, scale }) => { // the same for equal rows of one class, however they are written
    const common = cells.reduce((found, x) => (x ? gcd(found, x) : found), scale);
    return `${codes[i]}|${scale / common}|${cells.map((x) => x / common).join()}`;
  };
  for (const i of named) {
    const name = key(i, exact(i));
    if (!groups.has(name)) groups.set(name, i);
    of.set(i, groups.get(name));
    cost.set(of.get(i), 0n);
  }
  await checkRows(claim, weights, codes, exact, patience, (i, x) => {
    const g = groups.get(key(i, x));
    if (g !== undefined) cost.set(g, cost.get(g) + BigInt(weights[i]));
  });
  const sides = [];
  for (const entry of table) { await patience.ask(); sides.push(groupsOf(entry, claim.classes.length, codes, exact, of)); }
  let leaves = 0;
  for (const { node, K, R } of cases(nodes, of)) {
    if (leaves++ % 16 === 0) await patience.ask();
    if (node.word === "dead") {
      const { P, N } = sides[node.k];
      if (!within(N, R) || !within(P, K)) throw new Fails(`refutation ${node.k} does not end its case`);
    } else checkPacking(node.pairs, claim.fewest, sides, K, R, cost);
  }
  if (lower > upper) throw new Fails("the lower bound is above the upper one");
  return [
    ["The plane", `All rows are strictly right but ${wrong.length}, which weigh ${upper}: no more errors than that are needed.`],
    ["The cases", `${table.length} refutations add up to zero, exactly. In each of ${leaves} cases they show errors of weight ${lower} at least, whatever the plane.`],
  ];
}

// Every row but those listed must be right; each row is counted in its group.
async function checkRows(claim, weights, codes, exact, patience, counted) {
  const d = claim.features, { upper } = claim.fewest, wrong = new Set(claim.fewest.wrong);
  if (!claim.offset && claim.plane.some((w) => w[d].top !== 0n)) throw new Fails("the plane has an offset, but is said to go through the origin");
  if (wrong.size < claim.fewest.wrong.length || [...wrong].some((i) => i >= codes.length)) throw new Fails("a wrong row is listed twice, or there is no such row");
  const width = d + claim.offset, { cells: flat } = whole(claim.plane.flatMap((w) => w.slice(0, width)));
  const W = claim.plane.map((_, c) => flat.slice(c * width, (c + 1) * width));
  let weight = 0n;
  for (let i = 0; i < codes.length; i++) {
    if (i % 16 === 0) await patience.ask();
    const x = exact(i);
    counted(i, x);
    if (wrong.has(i)) weight += BigInt(weights[i]);
    else if (weights[i]) {
      const scores = W.map((w) => dot(w, x.cells)), own = scores[codes[i]];
      if (scores.some((score, c) => c !== codes[i] && score >= own)) throw new Fails(`row ${i} is not right, and not listed as wrong`);
    }
  }
  if (weight !== BigInt(upper)) throw new Fails("the rows listed as wrong do not weigh as much as claimed");
}

// The groups of a refutation by the sign of their multipliers, once its leads are seen to add up to zero.
function groupsOf({ rows, rivals, multipliers }, classes, codes, exact, of) {
  const against = rivals ?? rows.map((i) => 1 - codes[i]);
  if (rows.some((i, k) => against[k] === codes[i])) throw new Fails("a refutation holds a row against its own class");
  const some = rows.map(exact), factors = whole(multipliers.map((m, k) => fraction(m, some[k].scale))).cells;
  const width = some[0].cells.length, sums = Array.from({ length: classes }, () => Array(width).fill(0n));
  some.forEach(({ cells }, k) => cells.forEach((x, j) => {
    sums[codes[rows[k]]][j] += factors[k] * x;
    sums[against[k]][j] -= factors[k] * x;
  }));
  if (sums.some((sum) => sum.some((value) => value))) throw new Fails("the rows of a refutation do not add up to zero");
  const P = new Set(), N = new Set();
  rows.forEach((i, k) => (multipliers[k] > 0n ? P : N).add(of.get(i)));
  if (!P.size || meets(P, N)) throw new Fails("a refutation has no positive multiplier, or a group of both signs");
  return { P, N };
}
const within = (one, other) => [...one].every((g) => other.has(g)), meets = (one, other) => [...one].some((g) => other.has(g));

// Every leaf with the groups held right (K) and wrong (R): the tree is written node, case "right", case "wrong".
function* cases(nodes, of) {
  const waiting = [{ K: new Set(), R: new Set() }];
  for (const node of nodes) {
    if (!waiting.length) throw new Malformed("the tree goes on after its last case");
    const { K, R } = waiting.pop();
    if (node.word !== "split") { yield { node, K, R }; continue; }
    const g = of.get(node.row);
    if (K.has(g) || R.has(g)) throw new Fails(`row ${node.row} is split on twice`);
    if (K.size + R.size >= MOST_SPLITS) throw new Malformed(`the tree is more than ${MOST_SPLITS} splits deep`);
    waiting.push({ K, R: new Set([...R, g]) }, { K: new Set([...K, g]), R });
  }
  if (waiting.length) throw new Malformed("the tree ends before its last case");
}

// No group may carry more than it costs, and the weights must reach the bound.
function checkPacking(own, { common, lower }, sides, K, R, cost) {
  const usable = ({ k }) => within(sides[k].N, R) && !meets(sides[k].P, R) && !within(sides[k].P, K), load = new Map();
  let total = [...R].reduce((sum, g) => sum + cost.get(g), 0n) * UNIT;
  if (!own.every(usable)) throw new Fails("a refutation may not be used in its case");
  for (const { k, units } of [...own, ...common.filter(usable)]) {
    total += units;
    for (const g of sides[k].P) if (!K.has(g)) load.set(g, (load.get(g) ?? 0n) + units);
  }
  for (const [g, units] of load) if (units > cost.get(g) * UNIT) throw new Fails(`row ${g} carries more than its copies`);
  if (total <= (BigInt(lower) - 1n) * UNIT) throw new Fails("a case is not shown to reach the lower bound");
}
