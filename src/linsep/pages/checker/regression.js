// The check of a proof of separation in a regression model: constraints z·g ≥ 0 or = 0 on the coefficients, as each family
// defines them, and what the document claims of them. From the page on the format of proofs; all in whole numbers.

import { DECIMAL, Fails, Malformed, fraction, show, whole, wholeRow } from "./exact.js";
import { FIELDS, OTHERS, classNames, count, counts, fields, flag, formOfReading, labelText, list, numbers, object, strip, text, texts } from "./document.js";
import { dot, fingerprint, orthogonal, rankAtLeast } from "./facts.js";

const CLAIMS = Object.assign(Object.create(null), {
  complete: "complete separation: the maximum likelihood estimate does not exist",
  quasi: "quasi-complete separation: the maximum likelihood estimate does not exist",
  overlap: "overlap: the maximum likelihood estimate exists",
});
const RESPONSES = Object.assign(Object.create(null), {
  binomial: ["label", "number", "number failures"], poisson: ["number"],
  "negative-binomial": ["number"], multinomial: ["label"], ordinal: ["label"], conditional: ["number stratum"], cox: ["number event", "number event stratum"],
});
const EVIDENCE = Object.assign(Object.create(null), { finite: ["rows", "multipliers"], "+inf": ["rows", "multipliers"], "-inf": ["rows", "multipliers"], undetermined: ["up", "down"], aliased: [] });
const SEPARATION = {
  format: text, kind: text, meaning: text, fit_intercept: flag, classes: list, n_features: count, values: text, family: text, response: texts, alias: text,
  names: texts, claim: text, columns: list, independent: list, aliased: list, direction: list, separated: list, rest: object, coefficients: list,
  data: object, made: object, digest: text,
};
const MOST_EMPTY = 1000; // classes without rows
const demand = (condition, what) => { if (!condition) throw new Fails(what); };
const shares = (family) => family === "binomial";

// ------------------------------------------------------------------------------------------------------------ the document

OTHERS.separation = (found) => {
  const claim = fields(found, SEPARATION, "the proof"), about = formOfReading(claim.data, true);
  fields(claim.made, FIELDS.made, "made");
  if (!(claim.claim in CLAIMS) || !(claim.family in RESPONSES)) throw new Malformed("the family or the claim is not known");
  if (claim.meaning !== CLAIMS[claim.claim]) throw new Malformed("its sentence does not match what it proves");
  if (claim.values !== "binary" && claim.values !== "decimal") throw new Malformed("values must be “binary” or “decimal”");
  if (claim.alias !== "drop" && claim.alias !== "keep") throw new Malformed("alias must be “drop” or “keep”");
  const roles = claim.response, own = roles.at(-1) === "weight" ? roles.slice(0, -1) : roles;
  if (!RESPONSES[claim.family].includes(own.join(" "))) throw new Malformed(`this is not a response of the family ${claim.family}`);
  const names = classNames(claim.classes), labeled = roles[0] === "label";
  if (labeled ? names.length < 2 || (names.length > 2 && shares(claim.family)) : names.length) throw new Malformed("a response of labels has two classes or more, one of numbers none");
  if (claim.fit_intercept && ["ordinal", "conditional", "cox"].includes(claim.family)) throw new Malformed(`the family ${claim.family} has no intercept`);
  const features = claim.n_features.value;
  if (about.n_features.value !== features || claim.names.length !== features) throw new Malformed("it names its numbers of features differ");
  const opened = {
    kind: claim.kind, meaning: claim.meaning, offset: claim.fit_intercept, classes: names, features, values: claim.values, rows: about.n_rows.value,
    sha256: about.sha256, reading: about.reading, family: claim.family, response: roles, keep: claim.alias === "keep", claim: claim.claim,
    columns: counts(claim.columns, "columns"), independent: counts(claim.independent, "independent"), direction: numbers(claim.direction),
    separated: claim.separated.map((stretch) => {
      if (!list(stretch) || stretch.length !== 2) throw new Malformed("separated rows are stretches of a first and a last one");
      return counts(stretch, "separated");
    }),
    aliased: claim.aliased.map((each) => {
      const { column, columns, multipliers } = fields(asObject(each), { column: count, columns: list, multipliers: list }, "an aliased column");
      return { column: column.value, columns: counts(columns, "columns"), multipliers: numbers(multipliers) };
    }),
    rest: evidence(claim.rest, ["rows", "multipliers"], "the rest"),
  };
  opened.coefficients = claim.coefficients.map((each) => {
    const status = asObject(each).get("status");
    if (!text(status) || !(status in EVIDENCE)) throw new Malformed("a coefficient has no status that is known");
    const parts = EVIDENCE[status];
    const { name } = fields(each, { name: text, status: text, ...Object.fromEntries(parts.map((field) => [field, list])) }, "a coefficient");
    return { name, status, ...evidence(new Map([...each].filter(([field]) => parts.includes(field))), parts, "a coefficient") };
  });
  const expected = coefficientNames(opened, claim.names);
  if (opened.coefficients.length !== expected.length || opened.coefficients.some(({ name }, j) => name !== expected[j])) throw new Malformed("the coefficients are not named as those of the model");
  return opened;
};
const asObject = (v) => { if (!object(v)) throw new Malformed("a part of the proof is not an object"); return v; };
function evidence(given, names, what) {
  const found = fields(given, Object.fromEntries(names.map((name) => [name, list])), what);
  return Object.fromEntries(names.map((name) => [name, name === "rows" ? counts(found.rows, what) : numbers(found[name])]));
}
function coefficientNames({ family, offset, classes }, names) {
  const own = offset ? ["Intercept", ...names] : names;
  if (family === "multinomial") return classes.slice(1).flatMap((label) => own.map((name) => `${label}:${name}`));
  if (family === "ordinal") return [...classes.slice(1).map((label, k) => `${classes[k]}|${label}`), ...own];
  return own;
}

// ------------------------------------------------------------------------------------------------------------ the response

const parts = (label) => (Array.isArray(label) ? label : [label]);
function answersOf(claim, table) { // of every row, by role: the number of a class, the name of a stratum, or a number
  demand(table.rows === claim.rows, `it was written for ${claim.rows} rows, these are ${table.rows}`);
  const place = new Map(claim.classes.map((name, c) => [name, c])), seen = new Set();
  const answers = Array.from({ length: table.rows }, (_, i) => {
    const said = parts(table.label(i));
    demand(table.cells(i).length === claim.features, `row ${i} has ${table.cells(i).length} features, not ${claim.features}`);
    demand(said.length === claim.response.length, `the response has ${said.length} columns, not ${claim.response.length}`);
    return Object.fromEntries(claim.response.map((role, k) => {
      if (role === "stratum") return [role, labelText(said[k])];
      if (role !== "label") return [role, numberOf(said[k])];
      const code = place.get(labelText(said[k]));
      demand(code !== undefined, `row ${i} has a label that is none of the classes`);
      seen.add(code);
      return [role, code];
    }));
  });
  demand(claim.family !== "binomial" || seen.size === claim.classes.length, "some class has no row");
  demand(claim.classes.length - seen.size <= MOST_EMPTY, "more than 1000 classes have no row");
  return answers;
}
function numberOf(value) {
  if (typeof value === "string") demand(DECIMAL.test(strip(value)), "a response is not a number");
  const number = typeof value === "string" ? Number(strip(value)) : Number(value);
  demand(Number.isFinite(number), "a response is out of range");
  return number;
}

// --------------------------------------------------------------------------------------------------------- the constraints

const minus = (row) => row.map((value) => -value);
function constraintsOf(claim, table, answers) { // [{cells, scale, equal}]: cells / scale is the constraint
  answers.forEach((answer, i) => demand((answer.weight ?? 0) >= 0, `row ${i} has a negative weight`));
  const counted = [...answers.keys()].filter((i) => (answers[i].weight ?? 1) > 0);
  const exact = (i) => {
    const { cells, scale } = wholeRow(table.cells(i), claim.values);
    return { cells: claim.offset ? [scale, ...cells] : cells, scale };
  };
  const made = { multinomial: againstRivals, ordinal: betweenThresholds }[claim.family] ?? (claim.family === "conditional" || claim.family === "cox" ? differences : oneEach);
  const found = made(claim, exact, answers, counted);
  demand(found.length, "there is nothing to model");
  return found;
}
function oneEach({ family }, exact, answers, counted) {
  const found = [];
  let ups = 0, downs = 0;
  for (const i of counted) {
    const { label, number, failures } = answers[i], value = label ?? number, share = shares(family);
    demand(value >= 0 && (failures ?? 0) >= 0 && (value <= 1 || !share || failures !== undefined), `row ${i} has no such response`);
    if (failures !== undefined && value === 0 && failures === 0) continue;
    const low = value === 0, all = failures === undefined ? value === 1 : failures === 0, high = share && all;
    if (share ? all : !low) ups++;
    if (low) downs++;
    const { cells, scale } = exact(i);
    found.push({ cells: high ? cells : minus(cells), scale, equal: !(low || high) });
  }
  demand(shares(family) ? ups < found.length && downs < found.length : ups > 0, "the response is constant");
  return found;
}
function againstRivals({ classes }, exact, answers, counted) { // x·(g_y − g_k) ≥ 0, with g = 0 for class 0
  return counted.flatMap((i) => {
    const { cells, scale } = exact(i), own = answers[i].label, blocks = (rival) => classes.slice(1).flatMap((_, k) => (k + 1 === own ? cells : k + 1 === rival ? minus(cells) : cells.map(() => 0n)));
    return [...classes.keys()].filter((rival) => rival !== own).map((rival) => ({ cells: blocks(rival), scale, equal: false }));
  });
}
function betweenThresholds({ classes, features }, exact, answers, counted) { // t_y − x·g ≥ 0 and x·g − t_(y−1) ≥ 0; then t_k − t_(k−1) ≥ 0
  const cuts = classes.length - 1;
  const inOrder = Array.from({ length: cuts - 1 }, (_, k) => ({ cells: Array.from({ length: cuts + features }, (_, j) => (j === k + 1 ? 1n : j === k ? -1n : 0n)), scale: 1n, equal: false }));
  const found = counted.flatMap((i) => {
    const { cells, scale } = exact(i), own = answers[i].label, cut = (k, sign) => Array.from({ length: cuts }, (_, j) => (j === k ? sign * scale : 0n));
    const above = { cells: [...cut(own, 1n), ...minus(cells)], scale, equal: false }, below = { cells: [...cut(own - 1, -1n), ...cells], scale, equal: false };
    return [...(own < cuts ? [above] : []), ...(own > 0 ? [below] : [])];
  });
  return found.length ? [...found, ...inOrder] : [];
}
function differences({ family }, exact, answers, counted) { // within strata, these in the order of their first rows
  const groups = new Map();
  for (const i of counted) groups.set(answers[i].stratum, [...(groups.get(answers[i].stratum) ?? []), i]);
  return [...groups.values()].flatMap((members) => (family === "conditional" ? chosen : atRisk)(members, answers)).map(([i, j]) => {
    const a = exact(i), b = exact(j);
    return { cells: a.cells.map((value, k) => value * b.scale - b.cells[k] * a.scale), scale: a.scale * b.scale, equal: false };
  });
}
function chosen(members, answers) {
  const y = (i) => answers[i].number;
  demand(members.every((i) => y(i) === 0 || y(i) === 1) && members.some((i) => y(i) === 1), "a stratum has no row that was chosen");
  return members.filter((i) => y(i) === 1).flatMap((i) => members.filter((j) => y(j) === 0).map((j) => [i, j]));
}
function atRisk(members, answers) { // latest times first; the first event of a time stands for the others of its time
  demand(members.every((i) => answers[i].event === 0 || answers[i].event === 1), "an event is 1, or 0 if censored");
  const times = [...new Set(members.map((i) => answers[i].number))].sort((a, b) => b - a), pairs = [];
  let waiting = [], later = [];
  for (const time of times) {
    const same = members.filter((i) => answers[i].number === time), events = same.filter((i) => answers[i].event === 1);
    waiting.push(...same.filter((i) => answers[i].event === 0));
    if (!events.length) continue;
    pairs.push(...[...waiting, ...later].map((j) => [events[0], j]), ...events.slice(1).flatMap((other) => [[events[0], other], [other, events[0]]]));
    [waiting, later] = [[], [events[0]]];
  }
  return pairs;
}

// --------------------------------------------------------------------------------------------------------------- the claims

const signOf = ({ top }) => (top > 0n ? 1 : top < 0n ? -1 : 0);

function total(rows, width, which, factors) { // of constraints, each taken so many times, by coefficient
  const sums = Array(width).fill(0n);
  which.forEach((i, k) => {
    rows[i].cells.forEach((value, j) => { if (value) sums[j] += factors[k] * value; });
  });
  return sums;
}

export async function checkSeparation(claim, table, tell, patience) {
  const answers = answersOf(claim, table);
  tell("The data", await fingerprint(claim, table, patience) + (claim.family === "ordinal" ? ` The order of the labels: ${claim.classes.join(", ")}.` : ""));
  const rows = constraintsOf(claim, table, answers), width = rows[0].cells.length, columns = claim.columns, kept = new Set(columns);
  await patience.ask();
  const inner = (i) => { demand(i < rows.length, `there is no constraint ${i}`); return columns.map((j) => rows[i].cells[j]); };
  await checkIndependent(claim, width, kept, inner, patience);
  const aliased = await checkColumns(claim, rows, width, kept, patience);
  tell("The columns", `${rows.length} constraints on ${width} coefficients, of rank ${kept.size}${aliased.size ? `: ${aliased.size} columns depend on others` : ""}.`);
  const heights = async (g) => { // of a vector that must be in the cone
    demand(g.length === width && g.every(({ top }, j) => !top || kept.has(j)), "a direction has numbers in columns that are not kept");
    const vector = whole(g).cells, found = [];
    for (let i = 0; i < rows.length; i++) {
      if (i % 64 === 0) await patience.ask();
      const height = dot(vector, rows[i].cells);
      demand(height === 0n || (height > 0n && !rows[i].equal), `constraint ${i} does not hold on a direction`);
      found.push(height);
    }
    return found;
  };
  const separated = new Set((await heights(claim.direction)).flatMap((height, i) => (height > 0n ? [i] : [])));
  checkSplit(claim, separated, rows.length);
  tell("The direction", `Along it ${separated.size} of ${rows.length} constraints rise for ever, the others stay at 0, and none falls.`);
  const combined = (given, least) => { // the sum of constraints in the columns that are kept
    demand(given.rows.length === given.multipliers.length && new Set(given.rows).size === given.rows.length, "there are not as many multipliers as constraints");
    given.rows.forEach((i) => demand(i < rows.length, `there is no constraint ${i}`));
    const { cells: factors, scale } = whole(given.multipliers.map(({ top, bottom }, k) => fraction(top, bottom * rows[given.rows[k]].scale)));
    given.rows.forEach((i, k) => demand(least === null || rows[i].equal || signOf(given.multipliers[k]) >= least, `the multiplier of constraint ${i} has the wrong sign`));
    const sums = total(rows, width, given.rows, factors);
    return columns.map((j) => (sums[j] ? fraction(sums[j], scale) : { top: 0n, bottom: 1n }));
  };
  const rest = claim.rest;
  demand(combined(rest, 1).every(({ top }) => !top), "the constraints of the rest do not cancel");
  demand(!rest.rows.some((i) => separated.has(i)), "a constraint of the rest is separated");
  if (kept.size) {
    const normals = rest.rows.length ? (await orthogonal(rest.rows.map(inner), patience)).normals : null;
    for (let i = 0; i < rows.length; i++) {
      if (i % 64 === 0) await patience.ask();
      const off = !separated.has(i) && (normals ? normals.some((normal) => dot(normal, inner(i))) : inner(i).some((value) => value));
      demand(!off, "the constraints of the rest do not span all that are not separated");
    }
  }
  tell("The rest", `${rest.rows.length} constraints cancel with positive multipliers, so no direction separates any of them; and they span all ${rows.length - separated.size} that are not separated.`);
  const lines = [["coefficient", "status", "direction"]];
  for (const [j, each] of claim.coefficients.entries()) {
    await patience.ask();
    await checkStatus(claim, each, j, { aliased, heights, combined, separated, columns });
    lines.push([each.name, each.status, show(claim.direction[j])]);
  }
  tell("The coefficients", `Each of ${claim.coefficients.length} has the status that it is said to have.${claim.coefficients.length > 40 ? " The first 40 are listed." : ""}`, lines.slice(0, 41));
}
async function checkIndependent(claim, width, kept, inner, patience) {
  demand(kept.size === claim.columns.length && Math.max(-1, ...kept) < width, "a column stands twice");
  demand(claim.coefficients.length === width, "not every coefficient has a status");
  demand(claim.independent.length === kept.size, "there are not as many independent constraints as columns");
  const some = claim.independent.map(inner);
  if (kept.size && await rankAtLeast(some, patience) < kept.size) demand((await orthogonal(some, patience)).rank === kept.size, "some constraints are not independent");
}
async function checkColumns(claim, rows, width, kept, patience) {
  demand(claim.direction.length === width, "a direction has a number for every coefficient");
  const aliased = new Map();
  for (const { column, columns, multipliers } of claim.aliased) {
    demand(column < claim.coefficients.length && columns.length === multipliers.length && new Set(columns).size === columns.length, "the proof of an aliased column is incomplete");
    demand(columns.every((j) => j === column || kept.has(j)), "an aliased column is told by another one");
    const v = Array.from({ length: width }, () => fraction(0n));
    columns.forEach((j, k) => { v[j] = multipliers[k]; });
    demand(v[column].top && !aliased.has(column), "an aliased column is not told");
    const vector = whole(v).cells;
    for (let i = 0; i < rows.length; i++) {
      if (i % 64 === 0) await patience.ask();
      demand(!dot(vector, rows[i].cells), `column ${column} does not depend on the others`);
    }
    aliased.set(column, v);
  }
  demand([...aliased.keys()].every((j) => !kept.has(j)) && aliased.size + kept.size === width, "some column is neither kept nor aliased");
  return aliased;
}
function checkSplit(claim, separated, total) {
  let last = -1, said = 0;
  for (const [first, end] of claim.separated) {
    demand(first > last && first <= end && end < total, "the stretches are not in order");
    for (let i = first; i <= end; i++) demand(separated.has(i), "the direction does not separate these constraints");
    said += end - first + 1;
    last = end;
  }
  demand(said === separated.size, "the direction does not separate these constraints");
  const kind = said === 0 ? "overlap" : said === total ? "complete" : "quasi";
  demand(claim.claim === kind, `the claim is not ${kind}`);
}
async function checkStatus(claim, each, j, { aliased, heights, combined, separated, columns }) {
  const shared = aliased.has(j) || (claim.keep && [...aliased.values()].some((v) => v[j].top));
  demand((each.status === "aliased") === shared, `coefficient ${j} is ${shared ? "" : "not "}aliased`);
  if (shared) return;
  const sign = { "+inf": 1, "-inf": -1 }[each.status] ?? 0, unit = BigInt(sign || 1);
  if (each.rows) combined(each, sign ? 0 : null).forEach(({ top, bottom }, k) => demand(bottom === 1n && top === (columns[k] === j ? unit : 0n), `the constraints do not add up to coefficient ${j}`));
  if (each.status === "undetermined") {
    await heights(each.up);
    await heights(each.down);
    demand(each.up[j].top > 0n && each.down[j].top < 0n, `coefficient ${j} does not go both ways`);
  } else if (sign) demand(sign * signOf(claim.direction[j]) > 0, `the direction leaves coefficient ${j} at 0`);
  else demand(!each.rows.some((i) => separated.has(i)), `coefficient ${j} is proved with separated constraints`);
}
