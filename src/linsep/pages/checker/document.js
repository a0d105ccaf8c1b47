// The document: strict JSON, its digest, its fields. What it claims is checked elsewhere.

import { DECIMAL, Malformed, Sha256, WIDEST, hex, number, quote, utf8, whole } from "./exact.js";

const LARGEST = 1 << 26; // characters of a document
const DEEPEST = 20;

// A number of a document: its text decides whether it is whole.
class Numeral {
  constructor(text) {
    this.text = text;
    this.value = Number(text);
    this.isWhole = /^-?\d+$/.test(text);
    if (!Number.isFinite(this.value) || text.length > (this.isWhole ? 20 : 40)) throw new Malformed(`${quote(text)} is not a number that a proof may hold`);
  }
}

// JSON as RFC 8259 has it, but no key twice, nothing nested deeply, and numbers as they are written.
export function parse(text) {
  if (text.length > LARGEST) throw new Malformed(`it is longer than ${LARGEST} characters`);
  let at = 0;
  const wrong = (what) => { throw new Malformed(`it is not JSON: ${what} at character ${at}`); };
  const blank = () => { while (at < text.length && " \t\n\r".includes(text[at])) at++; };
  const expect = (sign) => { if (text[at] !== sign) wrong(`${quote(sign)} is expected`); at++; };
  const taken = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  function string() {
    // eslint-disable-next-line no-control-regex
    const found = taken(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    if (found === undefined) wrong("a text is expected");
    return JSON.parse(found);
  }
  function value(depth) {
    if (depth > DEEPEST) throw new Malformed("it is nested too deeply");
    blank();
    const sign = text[at];
    if (sign === "{") return members(depth);
    if (sign === "[") {
      const list = [];
      at++;
      for (blank(); text[at] !== "]"; blank()) {
        if (list.length) expect(",");
        list.push(value(depth + 1));
      }
      at++;
      return list;
    }
    if (sign === '"') return string();
    for (const [word, meant] of [["true", true], ["false", false], ["null", null]]) if (text.startsWith(word, at)) { at += word.length; return meant; }
    const numeral = taken(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (numeral === undefined) wrong("a value is expected");
    return new Numeral(numeral);
  }
  function members(depth) {
    const found = new Map();
    at++;
    for (blank(); text[at] !== "}"; blank()) {
      if (found.size) { expect(","); blank(); }
      const key = string();
      if (found.has(key)) throw new Malformed(`the key ${quote(key)} stands twice`);
      blank();
      expect(":");
      found.set(key, value(depth + 1));
    }
    at++;
    return found;
  }
  const found = value(0);
  blank();
  if (at < text.length) wrong("more than one value");
  return found;
}

// A float as Python writes it: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
export function pythonFloat(value) {
  if (Object.is(value, -0)) return "-0.0";
  const [digits, exponent] = value.toExponential().split("e"), power = Number(exponent);
  if (power >= -4 && power < 16) {
    const plain = power >= 0 ? BigInt(Math.trunc(value)).toString() : "0";
    if (Number.isInteger(value)) return `${plain}.0`;
    const [head, tail = ""] = digits.replace("-", "").split("."), all = head + tail, sign = value < 0 ? "-" : "";
    return power < 0 ? `${sign}0.${"0".repeat(-power - 1)}${all}` : `${sign}${all.slice(0, power + 1)}.${all.slice(power + 1)}`;
  }
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
const escaped = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
function order(one, other) { // of keys: by code points
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i].codePointAt(0) - b[i].codePointAt(0);
  return a.length - b.length;
}
function canonical(value) { // sorted keys, no blanks, nothing but ASCII
  if (value instanceof Map) return `{${[...value.keys()].sort(order).map((key) => `${escaped(key)}:${canonical(value.get(key))}`).join(",")}}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value instanceof Numeral) return value.isWhole ? BigInt(value.text).toString() : pythonFloat(value.value);
  return typeof value === "string" ? escaped(value) : String(value);
}
export const sha256 = (text) => hex(new Sha256().update(utf8(text)).digest());

// The one spelling of a label: a text that reads as a number is that number, 1.0 is 1.
export function labelText(label) {
  if (typeof label === "boolean") return label ? "True" : "False";
  let value = label instanceof Numeral ? label.value : label;
  if (typeof label === "string") {
    const word = strip(label);
    if (!DECIMAL.test(word) || !(Math.abs(Number(word)) < 2 ** 53)) return word;
    value = Number(word);
  } else if (label instanceof Numeral && label.isWhole) return BigInt(label.text).toString();
  return Number.isInteger(value) ? BigInt(value).toString() : pythonFloat(value);
}
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
export const strip = (text) => text.replace(ENDS, "");

// ------------------------------------------------------------------------------------------------------------- the fields

const LARGEST_WHOLE = Number.MAX_SAFE_INTEGER;
export const text = (v) => typeof v === "string", flag = (v) => typeof v === "boolean", list = (v) => Array.isArray(v);
const object = (v) => v instanceof Map;
const count = (v) => v instanceof Numeral && v.isWhole && v.value >= 0 && v.value <= LARGEST_WHOLE;
const maybe = (kind) => (v) => v === null || kind(v);
const sealed = (v) => text(v) && /^[0-9a-f]{64}$/.test(v), texts = (v) => list(v) && v.every(text);
const FIELDS = {
  data: { n_rows: count, n_features: count, sha256: sealed, reading: maybe(object), files: texts },
  made: { by: text, time: text, options: (v) => object(v) && [...v.values()].every(text), note: maybe(text) },
  document: { format: text, kind: text, meaning: text, fit_intercept: flag, classes: list, n_features: count, values: text, data: object, made: object, digest: text },
  verdict: { separator: maybe(object), refutation: maybe(object) },
  fewest: { lower: count, upper: count, wrong: list, weights: maybe(list), separator: object, refutations: list, common: list, tree: list },
  separator: { w: list, b: list },
  refutation: { rows: list, rivals: list, multipliers: list },
};
export const MEANINGS = Object.assign(Object.create(null), { // nothing else has a place in it, such as "toString"
  separable: (through) => `a plane${through} has every row strictly on its side`,
  quasi: (through) => `no plane${through} has every row strictly on its side, but one has none on the wrong side`,
  overlap: (through) => `every plane${through} has rows on the wrong side, or all rows on it`,
  "fewest-errors": (through, claim) => `the fewest errors of any plane${through} are between ${claim?.lower.value} and ${claim?.upper.value}`,
});

export function fields(of, kinds, what, optional = []) {
  const names = Object.keys(kinds);
  for (const name of names) {
    if (!of.has(name)) { if (optional.includes(name)) continue; throw new Malformed(`${what}: the field ${quote(name)} is missing`); }
    if (!kinds[name](of.get(name))) throw new Malformed(`${what}: the field ${quote(name)} is not what it should be`);
  }
  for (const name of of.keys()) if (!names.includes(name)) throw new Malformed(`${what}: there is no field ${quote(name)}`);
  return Object.fromEntries(of);
}
const counts = (values, what) => values.map((v) => { if (!count(v)) throw new Malformed(`${what} must be whole numbers from 0`); return v.value; });

// A document of format 1 in the words of format 2; it has no sentence and says nothing about its making.
function renewed(old) {
  const found = new Map([...old].filter(([name]) => name !== "verdict" && name !== "bracket")), through = old.get("fit_intercept") === false ? " through the origin" : "";
  if (object(old.get("refutation"))) found.set("refutation", new Map([...old.get("refutation")].map(([name, v]) => [name === "weights" ? "multipliers" : name, v])));
  found.set("kind", old.get("verdict")).set("values", "binary").set("meaning", MEANINGS[old.get("verdict")]?.(through) ?? "");
  if (object(old.get("data"))) found.set("data", new Map([...old.get("data"), ["reading", null]]));
  return found.set("made", new Map([["by", ""], ["time", ""], ["options", new Map()], ["note", null]]));
}

// The content of a document whose digest and fields are right: numbers as fractions, the rest as plain values.
export function open(source) {
  let found = parse(source);
  const format = object(found) && found.get("format");
  if (format !== "linsep proof 2" && format !== "linsep proof 1") throw new Malformed("it does not say “format”: “linsep proof 2”");
  const rest = new Map([...found].filter(([name]) => name !== "digest")), digest = sha256(canonical(rest));
  if (found.get("digest") !== digest) throw new Malformed("it was altered: its digest does not fit its content");
  if (format === "linsep proof 1") found = renewed(found);
  if (!Object.hasOwn(MEANINGS, found.get("kind"))) throw new Malformed(`this page does not check proofs of the kind ${quote(found.get("kind"))}`);
  const counted = found.get("kind") === "fewest-errors";
  const claim = fields(found, { ...FIELDS.document, ...(counted ? FIELDS.fewest : FIELDS.verdict) }, "the proof"), about = fields(claim.data, FIELDS.data, "data", ["files"]), names = classes(claim);
  fields(claim.made, FIELDS.made, "made");
  if (claim.meaning !== MEANINGS[claim.kind](claim.fit_intercept ? "" : " through the origin", claim)) throw new Malformed("its sentence is not what it proves");
  if (claim.values !== "binary" && claim.values !== "decimal") throw new Malformed("values must be “binary” or “decimal”");
  if (!counted && ((claim.separator === null) !== (claim.kind === "overlap") || (claim.refutation === null) !== (claim.kind === "separable"))) {
    throw new Malformed(`the proof of ${quote(claim.kind)} has not the parts that it needs, or others`);
  }
  const features = claim.n_features.value;
  if (about.n_features.value !== features) throw new Malformed("it names two numbers of features");
  return {
    digest, first: format === "linsep proof 1", kind: claim.kind, meaning: claim.meaning, offset: claim.fit_intercept, classes: names, features, values: claim.values,
    plane: claim.separator && plane(claim.separator, names.length, features), refutation: claim.refutation && refutation(claim.refutation), fewest: counted ? fewest(claim, names.length) : null,
    rows: about.n_rows.value, sha256: about.sha256, reading: about.reading,
  };
}
function classes(claim) { // by their spelling
  if (claim.classes.length < 2 || !claim.classes.every((label) => text(label) || flag(label) || label instanceof Numeral)) throw new Malformed("classes must be two texts or numbers at least");
  const names = claim.classes.map(labelText);
  if (new Set(names).size < names.length) throw new Malformed("two classes have the same name");
  return names;
}
function numbers(given) { // of one list, whose common denominator must not be too long
  const found = given.map(number);
  whole(found, WIDEST);
  return found;
}
function plane(given, classes, features) { // weights of every class with its offset last; of two classes the first has zeros
  const { w, b } = fields(given, FIELDS.separator, "the separator"), expected = classes === 2 ? 1 : classes;
  if (w.length !== expected || b.length !== expected || !w.every((row) => list(row) && row.length === features)) {
    throw new Malformed("a separator must have one weight per feature and one offset, for each class (once for two)");
  }
  const offsets = numbers(b), rows = w.map((row, c) => [...numbers(row), offsets[c]]);
  return classes === 2 ? [rows[0].map(() => number("0")), rows[0]] : rows;
}
function refutation(given) {
  const { rows, rivals, multipliers } = fields(given, FIELDS.refutation, "the refutation");
  if (!rows.length || rows.length !== rivals.length || rows.length !== multipliers.length) {
    throw new Malformed("a refutation must name a row and a rival for each of its multipliers, at least one");
  }
  return { rows: counts(rows, "rows"), rivals: counts(rivals, "rivals"), multipliers: numbers(multipliers) };
}

// The parts of a proof of the fewest errors: row numbers, whole multipliers, weights in units of 2^-20.
function fewest({ lower, upper, wrong, weights, refutations, common, tree }, classes) {
  const length = classes === 2 ? 2 : 3, table = refutations.map((entry) => {
    if (!list(entry) || entry.length !== length || !entry.every(list)) throw new Malformed("a refutation of the proof has not the parts that it must have");
    const rows = counts(entry[0], "rows"), rivals = classes > 2 ? counts(entry[1], "rivals") : null, multipliers = entry.at(-1).map(multiplier);
    if (!rows.length || rows.length !== multipliers.length || (rivals && rivals.length !== rows.length)) throw new Malformed("a refutation must have a row for each of its multipliers, at least one");
    if (rivals && (rivals.some((c) => c >= classes) || multipliers.some((m) => m < 0n))) throw new Malformed("a refutation names a class that there is not, or a multiplier is negative");
    return { rows, rivals, multipliers };
  });
  const refuted = (k) => { if (!count(k) || k.value >= table.length) throw new Malformed("a refutation is named that there is not"); return k.value; };
  const pair = (entry) => {
    if (!list(entry) || entry.length !== 2 || !count(entry[1])) throw new Malformed("a packing must hold pairs: a refutation and its weight");
    return { k: refuted(entry[0]), units: BigInt(entry[1].value) };
  };
  const nodes = tree.map((entry) => {
    const [word, ...rest] = list(entry) ? entry : [];
    if (word === "split" && rest.length === 1) return { word, row: counts(rest, "rows")[0] };
    if (word === "dead" && rest.length === 1) return { word, k: refuted(rest[0]) };
    if (word === "packing") return { word, pairs: rest.map(pair) };
    throw new Malformed("a node of the tree must be a split, dead or a packing");
  });
  return { lower: lower.value, upper: upper.value, wrong: counts(wrong, "wrong rows"), weights: weights && counts(weights, "weights"), table, common: common.map(pair), nodes };
}
function multiplier(given) {
  const short = given instanceof Numeral && given.isWhole && Math.abs(given.value) <= LARGEST_WHOLE;
  const { top, bottom } = short ? { top: BigInt(given.text), bottom: 1n } : number(given);
  if (top === 0n || top % bottom) throw new Malformed("a multiplier must be a whole number other than 0");
  return top / bottom;
}
