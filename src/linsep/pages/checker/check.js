// The check of a verdict: every inequality and every sum again, in whole numbers. From the definitions in the mathematics
// of linsep: scores Θ^c·x + b_c, a refutation as positive multipliers of (row, rival) that cancel, and spans.

import { Fails, Malformed, fraction, quote, show, whole, wholeRow } from "./exact.js";
import { labelText, open } from "./document.js";
import { checkErrors } from "./errors.js";
import { Patience, dot, fingerprint, orthogonal, rankAtLeast } from "./facts.js";
import { checkSeparation } from "./regression.js";

// Checks a document against a table {rows, cells(i), label(i)}. Tells what has been checked, a step at a time:
// told({title, said, table}). Returns {holds, kind, meaning, steps, reason}; what does not hold is a reason, not an exception.
export async function checkProof(source, table, told = () => {}, seconds = 60) {
  const steps = [], tell = (title, said, rows) => { const step = { title, said, rows }; steps.push(step); told(step); };
  let claim = null;
  try {
    const patience = new Patience(seconds);
    claim = await open(source, seconds);
    tell("The document", `A proof of the kind “${claim.kind}”, about ${claim.rows} rows of ${claim.features} features${claim.classes.length ? ` and ${claim.classes.length} classes` : ""}. Its digest ${claim.sealed ? "fits its content" : "was not compared: this browser offers no SHA-256 here"}.`);
    if (claim.kind === "separation") {
      await checkSeparation(claim, table, tell, patience);
      return { holds: true, kind: claim.kind, meaning: claim.meaning, steps };
    }
    const codes = classNumbers(claim, table);
    await patience.ask();
    tell("The data", await fingerprint(claim, table, patience));
    const exact = (i) => withOffset(claim, table.cells(i));
    if (claim.kind === "fewest-errors") {
      await checkErrors(claim, table, codes, exact, patience, tell);
      return { holds: true, kind: claim.kind, meaning: claim.meaning, steps };
    }
    if (claim.plane) tell(...await checkPlane(claim, table, codes, exact, patience));
    if (claim.refutation) tell(...checkSum(claim, codes, exact, table));
    if (claim.kind === "overlap") tell(...await checkSpan(claim, codes, exact, patience));
    return { holds: true, kind: claim.kind, meaning: claim.meaning, steps };
  } catch (error) {
    if (!(error instanceof Fails) && !(error instanceof Malformed) && !(error instanceof RangeError)) throw error;
    return { holds: false, kind: claim?.kind, steps, malformed: !(error instanceof Fails), reason: error.message };
  }
}

function classNumbers(claim, table) {
  if (table.rows !== claim.rows) throw new Fails(`it was written for ${claim.rows} rows, these are ${table.rows}`);
  const place = new Map(claim.classes.map((name, c) => [name, c])), seen = new Set();
  const codes = Array.from({ length: table.rows }, (_, i) => {
    const code = place.get(labelText(table.label(i)));
    if (code === undefined) throw new Fails(`row ${i} has the label ${quote(table.label(i))}, which is none of the classes`);
    if (table.cells(i).length !== claim.features) throw new Fails(`row ${i} has ${table.cells(i).length} features, not ${claim.features}`);
    seen.add(code);
    return code;
  });
  if (seen.size !== claim.classes.length) throw new Fails("some class of the proof has no row");
  return codes;
}

// ------------------------------------------------------------------------------------------------------------ the plane

function withOffset(claim, cells) { // (x, 1), or x through the origin, as whole numbers
  const { cells: values, scale } = wholeRow(cells, claim.values);
  return { cells: claim.offset ? [...values, scale] : values, scale };
}
async function checkPlane(claim, table, codes, exact, patience) {
  const strictly = claim.kind === "separable", d = claim.features;
  if (!claim.offset && claim.plane.some((w) => w[d].top !== 0n)) throw new Fails("the plane has an offset, but the proof says that it goes through the origin");
  const { cells: flat, scale } = whole(claim.plane.flatMap((w) => (claim.offset ? w : w.slice(0, d)))), width = d + claim.offset;
  const W = claim.plane.map((_, c) => flat.slice(c * width, (c + 1) * width)), nearestRows = [];
  let positive = 0;
  for (let i = 0; i < codes.length; i++) {
    if (i % 16 === 0) await patience.ask();
    const x = exact(i), scores = W.map((w) => dot(w, x.cells)), own = scores[codes[i]];
    for (let c = 0; c < W.length; c++) {
      if (c === codes[i]) continue;
      if (own < scores[c] || (strictly && own === scores[c])) {
        throw new Fails(`row ${i} is ${own === scores[c] ? "on the plane" : "on the wrong side"}: its class scores ${show(fraction(own, x.scale * scale))}, another ${show(fraction(scores[c], x.scale * scale))}`);
      }
      if (own > scores[c]) positive++;
      keepNearest(nearestRows, { i, lead: fraction(own - scores[c], x.scale * scale) });
    }
  }
  if (!positive) throw new Fails("every row is on the plane");
  const shown = nearestRows.map(({ i, lead }) => [`${i}`, String(table.label(i)), show(lead)]);
  const said = strictly
    ? `All ${codes.length * (W.length - 1)} inequalities hold strictly, in exact arithmetic. The rows nearest to equality:`
    : `No row is on the wrong side, and ${positive} of ${codes.length * (W.length - 1)} inequalities hold strictly. The rows nearest to equality:`;
  return ["The plane", said, [["row", "label", W.length === 2 ? "y (w·x + b)" : "own score − other score"], ...shown]];
}
function keepNearest(list, entry) { // five at most, the smallest lead first
  const less = (a, b) => a.top * b.bottom < b.top * a.bottom;
  const at = list.findIndex((other) => less(entry.lead, other.lead));
  if (at >= 0) list.splice(at, 0, entry);
  else if (list.length < 5) list.push(entry);
  if (list.length > 5) list.pop();
}

// ------------------------------------------------------------------------------------------------------- the refutation

function checkSum(claim, codes, exact, table) {
  const { rows, rivals, multipliers } = claim.refutation, classes = claim.classes.length;
  rows.forEach((i, k) => {
    if (i >= codes.length) throw new Fails(`the refutation names row ${i}, which there is not`);
    if (rivals[k] >= classes || rivals[k] === codes[i]) throw new Fails(`the refutation holds row ${i} against class ${rivals[k]}, which is no rival of it`);
    if (multipliers[k].top <= 0n) throw new Fails(`the multiplier of row ${i} is not positive`);
  });
  // multiplier · row = (multiplier / scale) · whole row: one denominator for all, and the sums are sums of whole numbers
  const some = rows.map(exact), factors = whole(multipliers.map(({ top, bottom }, k) => fraction(top, bottom * some[k].scale))).cells;
  const width = some[0].cells.length, sums = Array.from({ length: classes }, () => Array(width).fill(0n)), sizes = Array(width).fill(0n);
  some.forEach(({ cells }, k) => cells.forEach((x, j) => {
    sums[codes[rows[k]]][j] += factors[k] * x;
    sums[rivals[k]][j] -= factors[k] * x;
    if (codes[rows[k]] === classes - 1 || classes > 2) sizes[j] += factors[k] * x;
  }));
  for (let c = 0; c < classes; c++) for (let j = 0; j < width; j++) if (sums[c][j]) throw new Fails(`the rows of the refutation do not cancel: in column ${j} the sum is not 0`);
  const lines = rows.slice(0, 12).map((i, k) => [`${i}`, String(table.label(i)), ...(classes > 2 ? [claim.classes[rivals[k]]] : []), show(multipliers[k])]);
  const head = ["row", "label", ...(classes > 2 ? ["against"] : []), "multiplier"];
  const more = rows.length > 12 ? ` The first 12 are listed.` : "";
  const both = claim.offset ? "Σ λ y x = 0 and Σ λ y = 0" : "Σ λ y x = 0";
  const sum = classes > 2 ? "For every class the rows that are its own, minus those held against it, add up to 0 in every column" : `${both} in every column`;
  return ["The contradiction", `${rows.length} rows with positive multipliers cancel. ${sum}, exactly: so no plane has all of them strictly on their sides.${more}`, [head, ...lines]];
}

// ------------------------------------------------------------------------------------------------------------- the span

// Where no row is on the wrong side, the rows of the refutation are on the plane; if they span all others, all are.
async function checkSpan(claim, codes, exact, patience) {
  const { rows, rivals } = claim.refutation, classes = claim.classes.length, own = [...new Set(rows)].map((i) => exact(i).cells), width = own[0].length;
  let q = await rankAtLeast(own, patience);
  if (q < width) {
    const { rank, normals } = await orthogonal(own, patience);
    q = rank;
    for (let i = 0; i < codes.length; i++) {
      if (i % 16 === 0) await patience.ask();
      const x = exact(i).cells;
      if (normals.some((normal) => dot(normal, x))) throw new Fails(`row ${i} is not in the span of the rows of the refutation`);
    }
  }
  // as linear functions of Θ¹, Θ², … (Θ⁰ = 0), the leads of all rows over all rivals have rank (classes − 1) q
  const leads = rows.map((i, k) => {
    const x = exact(i).cells, lead = Array((classes - 1) * width).fill(0n);
    for (const [c, sign] of [[codes[i], 1n], [rivals[k], -1n]]) if (c) x.forEach((v, j) => { lead[(c - 1) * width + j] = sign * v; });
    return lead;
  });
  const needed = (classes - 1) * q;
  if (leads.length < needed) throw new Fails(`${leads.length} inequalities cannot span those of all rows, of rank ${needed}`);
  if (await rankAtLeast(leads, patience) < needed && (await orthogonal(leads, patience)).rank < needed) throw new Fails("the rows of the refutation do not span all rows");
  return ["The span", `The rows of the refutation span all ${codes.length} rows (rank ${q} of ${width}${classes > 2 ? `, ${needed} for the inequalities` : ""}): so no plane is even weakly right, unless all rows lie on it.`];
}
