// The proof of a verdict as a document of linsep: `linsep verify` checks it, and so does the checker of the page.

import { sealed } from "../../checker/document.js";
import { tableHash } from "../../checker/facts.js";

const digits = (value) => { const text = String(value); return text.length < 4000 ? text : `${value < 0n ? "-" : ""}0x${(value < 0n ? -value : value).toString(16)}`; };
const ZERO = "0".repeat(64); // where the browser offers no SHA-256

// The table that a proof is about: the points that are learned from, as the perceptron sees them.
export function provedTable({ space, classes, codes, question }) {
  const { learned } = question;
  return { rows: learned.length, cells: (i) => Array.from(space.rows[learned[i]]), label: (i) => classes[codes[learned[i]]] };
}

// Returns the document as text, null if nothing is proved.
export async function proofDocument(shown, verdict) {
  if (!verdict || !shown.question || verdict.kind === "unknown") return null;
  const { classes, run, question } = shown, { width, offset } = run, size = width + offset, table = provedTable(shown);
  const place = new Map(question.learned.map((row, i) => [row, i])), blocks = classes.length - 1;
  const vectors = verdict.direction && Array.from({ length: blocks }, (_, c) => verdict.direction.slice(c * size, (c + 1) * size).map(digits));
  const zeros = Array(size).fill("0"), all = vectors && (blocks > 1 ? [zeros, ...vectors] : vectors);
  return sealed({
    format: "linsep proof 1", kind: verdict.kind, fit_intercept: Boolean(offset), classes, n_features: width, values: "binary",
    separator: all && { w: all.map((w) => w.slice(0, width)), b: all.map((w) => (offset ? w[width] : "0")) },
    refutation: verdict.refutation && {
      rows: verdict.refutation.map(({ row }) => place.get(row)), rivals: verdict.refutation.map(({ rival }) => rival), multipliers: verdict.refutation.map(({ multiplier }) => digits(multiplier)),
    },
    data: { reading: null, n_rows: table.rows, n_features: width, sha256: (await tableHash(table)) ?? ZERO },
    made: { by: "linsep explore", time: new Date().toISOString().replace(/\.\d+Z$/, "Z"), options: {}, note: null },
  });
}
