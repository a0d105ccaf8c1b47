// The document: strict JSON, its digest, its fields. What it claims is checked elsewhere.

import { DECIMAL, Malformed, WIDEST, hex, lcm, limit, number, quote, sha256, utf8 } from "./exact.js";

const LARGEST = 1 << 26; // characters of a document
const DEEPEST = 20;

// A number of a document: its text decides whether it is whole.
export class Numeral {
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

export const text = (v) => typeof v === "string";
export const flag = (v) => typeof v === "boolean";
export const list = (v) => Array.isArray(v);
export const object = (v) => v instanceof Map;
export const count = (v) => v instanceof Numeral && v.isWhole && v.value >= 0 && v.value <= Number.MAX_SAFE_INTEGER;
export const maybe = (kind) => (v) => v === null || kind(v);
const hashed = (v) => text(v) && /^[0-9a-f]{64}$/.test(v);
export const texts = (v) => list(v) && v.every(text);
export const FIELDS = {
  data: { n_rows: count, n_features: count, sha256: hashed, reading: maybe(object), files: texts },
  made: { by: text, time: text, options: (v) => object(v) && [...v.values()].every(text), note: maybe(text) },
  document: {
    format: text, kind: text, meaning: text, fit_intercept: flag, classes: list, n_features: count, values: text,
    separator: maybe(object), refutation: maybe(object), data: object, made: object, digest: text,
  },
  separator: { w: list, b: list },
  refutation: { rows: list, rivals: list, multipliers: list },
};
// What a verdict says, of two classes and of several; nothing else has a place in it, such as "toString".
const planes = (claim) => `plane${claim.fit_intercept ? "" : " through the origin"}`, vectors = (claim) => `weight vectors${claim.fit_intercept ? "" : " without offsets"}`;
const highest = "score the true class of every row strictly highest", strictly = "has every row strictly on its side";
const MEANINGS = Object.assign(Object.create(null), {
  separable: [(claim) => `a ${planes(claim)} ${strictly}`, (claim) => `some ${vectors(claim)} ${highest}`],
  quasi: [(claim) => `no ${planes(claim)} ${strictly}, but one has none on the wrong side`, (claim) => `no ${vectors(claim)} ${highest}, but some never score another class higher`],
  overlap: [
    (claim) => `every ${planes(claim)} has rows on the wrong side, or all rows on it`,
    (claim) => `whatever the ${vectors(claim)}, another class scores higher on some row, or all scores are equal`,
  ],
  "not-separable": [(claim) => `no ${planes(claim)} ${strictly}`, (claim) => `no ${vectors(claim)} ${highest}`],
});
export const sentence = (claim) => meant(claim, MEANINGS[claim.kind]);
export const meant = (claim, [two, several]) => (claim.classes.length > 2 ? several : two)(claim);

const ENCODINGS = ["utf-8", "utf-16", "latin-1", "cp1252"];
const DAYS = "%[Yy][-/.]%m[-/.]%d|%[Yy][-/.]%d[-/.]%m|%m[-/.]%d[-/.]%[Yy]|%d[-/.]%m[-/.]%[Yy]";
const KIND = new RegExp(`^(number|boolean|percent|category|text|grouped:[,.'_ \\u00a0\\u2019\\u202f]|date:(iso|%H:%M(:%S([.]%f)?)?|(${DAYS})( %H:%M(:%S)?)?))$`);

// The form of a reading, whether or not this page can read such columns.
const READINGS = {
  columns: list, target: text, delimiter: (v) => text(v) && /^[\t -!#-~]$/.test(v), header: flag, missing: (v) => ["error", "zero", "drop", "indicator"].includes(v),
  point: (v) => v === "." || v === ",", gaps: texts, encoding: (v) => ENCODINGS.includes(v),
};
export function formOfReading(about, model = false) {
  const how = fields(about, FIELDS.data, "data", ["files"]);
  if (how.reading === null) return how;
  const { columns } = fields(how.reading, model ? { ...READINGS, others: texts } : READINGS, "reading");
  const kind = (v) => text(v) && KIND.test(v);
  const plain = (column) => object(column) && fields(column, { column: text, kind, level: maybe(text), hashed: count, ...(model ? { equals: text } : {}) }, "a column", ["kind", "level", "hashed", "equals"]);
  for (const column of columns) {
    const factors = model && object(column) && column.has("product") ? fields(column, { product: list }, "a product").product : [column];
    if (factors.length > 100 || !factors.every(plain)) throw new Malformed("reading: a column does not have the required value");
  }
  return how;
}

export const OTHERS = Object.create(null); // by kind: how documents that are not about verdicts are opened

export function fields(of, kinds, what, optional = []) {
  const names = Object.keys(kinds);
  for (const name of names) {
    if (!of.has(name)) { if (optional.includes(name)) continue; throw new Malformed(`${what}: the field ${quote(name)} is missing`); }
    if (!kinds[name](of.get(name))) throw new Malformed(`${what}: the field ${quote(name)} does not have the required value`);
  }
  for (const name of of.keys()) if (!names.includes(name)) throw new Malformed(`${what}: there is no field ${quote(name)}`);
  return Object.fromEntries(of);
}
export const counts = (values, what) => values.map((v) => { if (!count(v)) throw new Malformed(`${what} must be whole numbers from 0`); return v.value; });

// The content of a document whose digest and fields are right: numbers as fractions, the rest as plain values.
export async function open(source, seconds = 60) {
  limit.end = performance.now() + 1000 * seconds;
  const found = parse(source);
  if (!object(found) || found.get("format") !== "linsep proof 1") throw new Malformed("it does not say “format”: “linsep proof 1”");
  const rest = new Map([...found].filter(([name]) => name !== "digest")), hash = await sha256([utf8(canonical(rest))]);
  if (!text(found.get("digest")) || (hash && found.get("digest") !== hex(hash))) throw new Malformed("it was altered: its digest does not fit its content");
  return { sealed: hash !== null, ...(found.get("kind") in OTHERS ? OTHERS[found.get("kind")](found) : openVerdict(found)) };
}
// A verdict as a document, with its sentence and its digest; the inverse of `open`.
export async function sealed(claim) {
  const { format, kind, ...rest } = claim, content = { format, kind, meaning: sentence(claim), ...rest };
  const hash = await sha256([utf8(canonical(parse(JSON.stringify(content))))]);
  const lines = Object.entries({ ...content, digest: hash ? hex(hash) : "0".repeat(64) }).map(([name, value]) => ` ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}
function openVerdict(found) {
  if (!Object.hasOwn(MEANINGS, found.get("kind"))) throw new Malformed(`this page does not check proofs of the kind ${quote(found.get("kind"))}`);
  const claim = fields(found, FIELDS.document, "the proof"), about = formOfReading(claim.data), names = classes(claim);
  fields(claim.made, FIELDS.made, "made");
  if (claim.meaning !== meant(claim, MEANINGS[claim.kind])) throw new Malformed("its sentence does not match what it proves");
  if (claim.values !== "binary" && claim.values !== "decimal") throw new Malformed("values must be “binary” or “decimal”");
  if ((claim.separator === null) !== (claim.kind === "overlap" || claim.kind === "not-separable") || (claim.refutation === null) !== (claim.kind === "separable")) {
    throw new Malformed(`the proof of ${quote(claim.kind)} does not have the required parts`);
  }
  const features = claim.n_features.value;
  if (about.n_features.value !== features) throw new Malformed("it names its numbers of features differ");
  return {
    kind: claim.kind, meaning: claim.meaning, offset: claim.fit_intercept, classes: names, features, values: claim.values,
    plane: claim.separator && plane(claim.separator, names.length, features), refutation: claim.refutation && refutation(claim.refutation),
    rows: about.n_rows.value, sha256: about.sha256, reading: about.reading,
  };
}
export function classes(claim) {
  if (claim.classes.length < 2) throw new Malformed("classes must be two at least");
  return classNames(claim.classes);
}
export function classNames(given) { // by their spelling
  if (!given.every((label) => text(label) || flag(label) || label instanceof Numeral)) throw new Malformed("classes must be texts or numbers");
  const names = given.map(labelText);
  if (new Set(names).size < names.length) throw new Malformed("two classes have the same name");
  return names;
}
export function numbers(given) { // of one list, whose common denominator must not be too long
  let common = 1n;
  return given.map((text) => {
    const found = number(text);
    common = lcm(common, found.bottom, WIDEST);
    return found;
  });
}
export function plane(given, classes, features) { // weights of every class with its offset last; of two classes the first has zeros
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
