// The check of a proof about the fewest errors of any plane: the plane with few rows wrong, and cases none of which has fewer.

import { Fails, Malformed, fraction, gcd, quote, show, whole } from "./exact.js";
import { FIELDS, Numeral, OTHERS, classes, count, counts, fields, flag, formOfReading, list, maybe, meant, numbers, object, plane, text } from "./document.js";

const DEEPEST_CASE = 1000; // splits above a case
const HEAVIEST = 2n ** 53n; // all weights together are less
const BUSIEST = 10 ** 8; // cases times refutations that are common to all of them
const natural = (v) => v instanceof Numeral && v.isWhole && v.value >= 0;
const ERRORS = {
  format: text, kind: text, meaning: text, fit_intercept: flag, classes: list, n_features: count, values: text, lower: count, upper: count,
  sample_weight: maybe(list), separator: object, wrong: list, bits: count, refutations: list, common: list, tree: list, data: object, made: object, digest: text,
};

OTHERS["fewest-errors"] = (found) => {
  const claim = fields(found, ERRORS, "the proof"), about = formOfReading(claim.data), names = classes(claim);
  const lower = claim.lower.value, upper = claim.upper.value, features = claim.n_features.value, bits = claim.bits.value;
  fields(claim.made, FIELDS.made, "made");
  const bounds = `at least ${lower} and at most ${upper} errors${claim.sample_weight ? ", rows counted by their weights" : ""}`;
  const through = claim.fit_intercept ? "" : " through the origin", without = claim.fit_intercept ? "" : " without offsets";
  if (claim.meaning !== meant(claim, [() => `of all planes${through} the best has ${bounds}`, () => `of all weight vectors${without} the best have ${bounds}`])) throw new Malformed("its sentence does not match what it proves");
  if (claim.values !== "binary" && claim.values !== "decimal") throw new Malformed("values must be “binary” or “decimal”");
  if (about.n_features.value !== features) throw new Malformed("it names its numbers of features differ");
  if (lower > upper || bits > 4095) throw new Malformed("its bounds are not in order");
  const common = openPairs(claim.common), weights = claim.sample_weight && counts(claim.sample_weight, "sample_weight");
  if (weights && weights.reduce((sum, weight) => sum + BigInt(weight), 0n) >= HEAVIEST) throw new Malformed("its weights add up to 2^53 or more");
  return {
    kind: claim.kind, meaning: claim.meaning, offset: claim.fit_intercept, classes: names, features, values: claim.values,
    plane: plane(claim.separator, names.length, features), lower, upper, bits: BigInt(bits), common,
    weights, wrong: counts(claim.wrong, "wrong"),
    refutations: claim.refutations.map((each) => openConditional(each, names.length)), tree: openTree(claim.tree, common.length),
    rows: about.n_rows.value, sha256: about.sha256, reading: about.reading,
  };
};
function openConditional(given, classes) { // rows, their rivals if there are more than two classes, multipliers
  if (!object(given)) throw new Malformed("a refutation does not have the required value");
  const { rows, rivals, multipliers } = fields(given, { rows: list, multipliers: list, ...(classes > 2 ? { rivals: list } : {}) }, "a refutation");
  if (!rows.length || rows.length !== multipliers.length || (rivals && rows.length !== rivals.length)) throw new Malformed("a refutation must have as many multipliers as rows");
  return { rows: counts(rows, "rows"), rivals: rivals && counts(rivals, "rivals"), multipliers: numbers(multipliers) };
}
function openPairs(given) { // of the number of a refutation and its weight, in units of 2^-bits
  return given.map((pair) => {
    if (!list(pair) || pair.length !== 2 || !pair.every(natural)) throw new Malformed("a packing must hold pairs of whole numbers");
    return [pair[0].value, BigInt(pair[1].text)];
  });
}
function openTree(given, common) { // whether they make a tree: every split is followed by its two cases
  if (given.length * (common + 1) > BUSIEST) throw new Malformed("it has too many cases");
  const open = [0], found = [];
  for (const node of given) {
    if (!object(node) || node.size !== 1 || !open.length) throw new Malformed("a tree must be a list of nodes, every split followed by its two cases");
    const [[kind, value]] = node, depth = open.pop();
    if (kind === "packing" && list(value)) found.push({ packing: openPairs(value) });
    else if (kind === "dead" && count(value)) found.push({ dead: value.value });
    else if (kind === "row" && count(value) && depth < DEEPEST_CASE) { found.push({ row: value.value }); open.push(depth + 1, depth + 1); }
    else throw new Malformed(`a node of the tree is ${quote(kind)}, or goes too deep`);
  }
  if (open.length) throw new Malformed("the tree ends too early");
  return found;
}

// ------------------------------------------------------------------------------------------------------------- the check

export async function checkErrors(claim, table, codes, exact, patience, tell) {
  const weights = claim.weights ?? codes.map(() => 1);
  if (weights.length !== codes.length) throw new Fails("there are not as many weights as rows");
  tell(...await checkUpper(claim, table, codes, weights, exact, patience));
  const { group, capacity } = await groups(codes, weights, exact, patience), sides = [];
  for (const each of claim.refutations) { await patience.ask(); sides.push(canceled(each, claim, codes, group, exact)); }
  const shown = claim.refutations.slice(0, 6).map(({ rows, multipliers }) => [rows.slice(0, 8).join(", ") + (rows.length > 8 ? " …" : ""), multipliers.slice(0, 8).map((m) => show(m)).join(", ") + (rows.length > 8 ? " …" : "")]);
  tell("The refutations", `${sides.length} combinations of rows cancel exactly: of each, not all rows with a positive multiplier are right if those with a negative one are wrong.`, shown.length ? [["rows", "multipliers"], ...shown] : undefined);
  const cases = await checkCases(claim, codes, group, capacity, sides, patience);
  tell("The cases", `In each of ${cases} cases at least ${claim.lower} errors are left: no plane has fewer.`);
}

async function checkUpper(claim, table, codes, weights, exact, patience) {
  const d = claim.features, wrong = new Set(claim.wrong);
  if (!claim.offset && claim.plane.some((w) => w[d].top !== 0n)) throw new Fails("the plane has an offset, but the proof says that it goes through the origin");
  if (wrong.size < claim.wrong.length || claim.wrong.some((i) => i >= codes.length)) throw new Fails("a wrong row is listed twice, or is not there");
  const { cells: flat } = whole(claim.plane.flatMap((w) => (claim.offset ? w : w.slice(0, d)))), width = d + claim.offset;
  const W = claim.plane.map((_, c) => flat.slice(c * width, (c + 1) * width));
  for (let i = 0; i < codes.length; i++) {
    if (i % 16 === 0) await patience.ask();
    if (wrong.has(i) || !weights[i]) continue;
    const x = exact(i).cells, scores = W.map((w) => w.reduce((sum, a, j) => (a && x[j] ? sum + a * x[j] : sum), 0n));
    if (scores.some((score, c) => c !== codes[i] && score >= scores[codes[i]])) throw new Fails(`row ${i} is not strictly right, and not listed as wrong`);
  }
  if (claim.wrong.reduce((sum, i) => sum + BigInt(weights[i]), 0n) !== BigInt(claim.upper)) throw new Fails(`the rows that are wrong do not count ${claim.upper}`);
  const listed = claim.wrong.slice(0, 12).map((i) => [`${i}`, String(table.label(i))]);
  return ["The plane", `All other rows are strictly on their sides; ${claim.wrong.length} are listed as wrong${claim.wrong.length > 12 ? ", the first 12 here" : ""}.`, listed.length ? [["row", "label"], ...listed] : undefined];
}

// Equal rows of one class stand for each other: which is the first, and what they count together.
async function groups(codes, weights, exact, patience) {
  const first = new Map(), group = [], capacity = new Map();
  for (let i = 0; i < codes.length; i++) {
    if (i % 64 === 0) await patience.ask();
    const { cells, scale } = exact(i), all = [scale, ...cells];
    let common = 0n;
    for (const a of all) common = gcd(common, a);
    const key = `${codes[i]}:${all.map((a) => a / common).join(",")}`;
    if (!first.has(key)) first.set(key, i);
    group.push(first.get(key));
    capacity.set(group[i], (capacity.get(group[i]) ?? 0n) + BigInt(weights[i]));
  }
  return { group, capacity };
}

// The groups of the positive and of the negative rows of a refutation that cancels.
function canceled({ rows, rivals, multipliers }, claim, codes, group, exact) {
  const classes = claim.classes.length, positive = new Set(), negative = new Set();
  if (rows.some((i) => i >= codes.length)) throw new Fails("a refutation names a row that there is not");
  const against = rivals ?? rows.map((i) => 1 - codes[i]), some = rows.map(exact), sums = new Map();
  const factors = whole(multipliers.map(({ top, bottom }, k) => fraction(top, bottom * some[k].scale))).cells;
  rows.forEach((i, k) => {
    const sign = multipliers[k].top;
    if (against[k] >= classes || against[k] === codes[i] || sign === 0n || (sign < 0n && classes > 2)) throw new Fails("a multiplier is 0, or of no rival, or negative with more than two classes");
    (sign > 0n ? positive : negative).add(group[i]);
    for (const [c, side] of [[codes[i], 1n], [against[k], -1n]]) {
      if (!c) continue; // the weights of class 0 may be taken for 0
      const sum = sums.get(c) ?? some[k].cells.map(() => 0n);
      some[k].cells.forEach((x, j) => { if (x) sum[j] += side * factors[k] * x; });
      sums.set(c, sum);
    }
  });
  if (!positive.size || [...positive].some((g) => negative.has(g))) throw new Fails("a refutation has no positive row, or a row of both signs");
  for (const sum of sums.values()) if (sum.some((a) => a)) throw new Fails("a refutation does not cancel");
  return { positive, negative };
}

async function checkCases(claim, codes, group, capacity, sides, patience) {
  const side = (k) => { if (k >= sides.length) throw new Fails(`there is no refutation ${k}`); return sides[k]; };
  const usable = (k, right, wrong) => {
    const { positive, negative } = side(k);
    return [...negative].every((g) => wrong.has(g)) && ![...positive].some((g) => wrong.has(g)) && [...positive].some((g) => !right.has(g));
  };
  const stack = [{ right: new Set(), wrong: new Set() }];
  let cases = 0;
  for (const node of claim.tree) {
    await patience.ask();
    const { right, wrong } = stack.pop();
    if (node.row !== undefined) {
      if (node.row >= codes.length) throw new Fails(`there is no row ${node.row}`);
      const g = group[node.row];
      if (right.has(g) || wrong.has(g)) throw new Fails(`row ${node.row} is split on twice`);
      stack.push({ right, wrong: new Set([...wrong, g]) }, { right: new Set([...right, g]), wrong });
      continue;
    }
    cases++;
    if (node.dead !== undefined) {
      const { positive, negative } = side(node.dead);
      if (![...negative].every((g) => wrong.has(g)) || ![...positive].every((g) => right.has(g))) throw new Fails(`refutation ${node.dead} does not end a case`);
      continue;
    }
    const load = new Map();
    let total = 0n;
    for (const [k, units] of [...claim.common.filter(([k]) => usable(k, right, wrong)), ...node.packing]) {
      if (!usable(k, right, wrong)) throw new Fails(`refutation ${k} may not be used in a case`);
      total += units;
      for (const g of side(k).positive) if (!right.has(g)) load.set(g, (load.get(g) ?? 0n) + units);
    }
    for (const [g, units] of load) if (units > capacity.get(g) << claim.bits) throw new Fails(`row ${g} carries more than its copies`);
    for (const g of wrong) total += capacity.get(g) << claim.bits;
    if (total <= (BigInt(claim.lower) - 1n) << claim.bits) throw new Fails("a case is not shown to reach the lower bound");
  }
  return cases;
}
