// Exact numbers: fractions of BigInts, cells of a table, hashes. Nothing here rounds.

export class Malformed extends Error {} // the document or the table does not have the required value
export class Fails extends Error {} // the proof does not prove what it claims about these data

const LONGEST = 100_000; // characters of a number in a document
export const WIDEST = 200_000; // bits of the common denominator of a list of a document
const ENOUGH = 4_000_000; // bits of any other

const abs = (a) => (a < 0n ? -a : a);
export const limit = { end: Infinity }; // when a check is given up; fractions of many digits take long to reduce
export function gcd(a, b) {
  [a, b] = [abs(a), abs(b)];
  for (let step = 1; b; step++) {
    if (step % 64 === 0 && performance.now() > limit.end) throw new Malformed("the check takes too long here: check it with python linsep_check.py");
    [a, b] = [b, a % b];
  }
  return a;
}
const bits = (a) => { const digits = a.toString(16); return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28; };
export function lcm(a, b, most = ENOUGH) { // of positive numbers; mostly one divides the other
  if (a % b === 0n) return a;
  const found = (a / gcd(a, b)) * b;
  if (bits(found) > most) throw new Malformed("the common denominator of these numbers is too long");
  return found;
}
export const fraction = (top, bottom = 1n) => {
  if (!bottom) throw new Malformed("a fraction has the denominator 0");
  const g = gcd(top, bottom) || 1n, sign = bottom < 0n ? -1n : 1n;
  return { top: (sign * top) / g, bottom: (sign * bottom) / g };
};

// A double is a whole number times a power of two.
const view = new DataView(new ArrayBuffer(8));
export function binary(value) { // {digits, power}: value = digits · 2^power
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return { digits: BigInt(value), power: 0 };
  if (!Number.isFinite(value)) throw new Malformed(`${value} is not a number`);
  view.setFloat64(0, value);
  const raw = view.getBigUint64(0), exponent = Number((raw >> 52n) & 2047n), rest = raw & ((1n << 52n) - 1n);
  const digits = exponent ? rest | (1n << 52n) : rest;
  return { digits: raw >> 63n ? -digits : digits, power: Math.max(exponent, 1) - 1075 };
}
export const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?0*\d{1,4})?$/;
export function decimal(text) { // {digits, power}: value = digits · 10^power
  if (!DECIMAL.test(text) || text.length > 4000) throw new Malformed(`${quote(text)} is not a number`);
  const [head, exponent = "0"] = text.toLowerCase().split("e"), [whole, part = ""] = head.split(".");
  const sign = whole.startsWith("-") ? -1n : 1n;
  return { digits: sign * BigInt(`${whole.replace(/[+-]/, "")}${part}` || "0"), power: Number(exponent) - part.length };
}
export const quote = (text) => `“${String(text).length > 40 ? `${String(text).slice(0, 40)}…` : text}”`;

// The number that a string of a document stands for: 7, -3/7, 0.25, 0xff/0x3, and 0x1.8p-1 for 3/4.
export function number(text) {
  if (typeof text !== "string" || text.length > LONGEST) throw new Malformed("a number must be a text of at most 100,000 characters");
  let found = /^(-?)(\d{1,4000})(?:\/(\d{1,4000})|\.(\d{1,4000}))?$/.exec(text);
  if (found) {
    const [, sign, whole, bottom, part] = found, minus = sign ? -1n : 1n;
    if (part !== undefined) return fraction(minus * BigInt(whole + part), 10n ** BigInt(part.length));
    return fraction(minus * BigInt(whole), BigInt(bottom ?? 1));
  }
  found = /^(-?)(0x[0-9a-f]+)(?:\/(0x[0-9a-f]+))?$/.exec(text);
  if (found) return fraction((found[1] ? -1n : 1n) * BigInt(found[2]), BigInt(found[3] ?? 1));
  found = /^(-?)0x([01])\.([0-9a-f]{1,13})p([+-]\d{1,4})$/.exec(text);
  if (found) {
    const [, sign, lead, part, exponent] = found, power = Number(exponent) - 4 * part.length, digits = (sign ? -1n : 1n) * BigInt(`0x${lead}${part}`);
    if (Math.abs(Number(exponent)) > 1100) throw new Malformed(`${quote(text)} is not a double`);
    const exact = power < 0 ? fraction(digits, 1n << BigInt(-power)) : fraction(digits << BigInt(power));
    const lowest = power < 0 ? exact.bottom : 1n; // a double is a multiple of 2^-1074 and below 2^1024
    if (lowest > 1n << 1074n || abs(exact.top) >= exact.bottom << 1024n) throw new Malformed(`${quote(text)} is not a double`);
    return exact;
  }
  throw new Malformed(`${quote(text)} is not a number`);
}

// A cell is a number of JavaScript, or a text: the decimal that it shows or the double nearest to it, as `values` says.
// With an n behind it, it is that whole number, of any length.
function cellOf(cell, values) {
  if (typeof cell === "string" && /^-?\d{1,400}n$/.test(cell)) return { digits: BigInt(cell.slice(0, -1)), power: 0 };
  if (typeof cell === "number" && values === "binary") return binary(cell);
  const text = String(cell); // of a number the shortest decimal that reads back as it
  if (values === "decimal") return decimal(text);
  if (!DECIMAL.test(text) || text.length > 4000) throw new Malformed(`${quote(text)} is not a number`);
  return binary(Number(text));
}
export const isWholeText = (cell) => typeof cell === "string" && cell.endsWith("n");
export const nearest = (cell) => Number(isWholeText(cell) ? BigInt(cell.slice(0, -1)) : cell); // the nearest double

// A row times a positive whole number `scale`, which makes all of it whole.
export function wholeRow(cells, values) {
  const base = values === "decimal" ? 10n : 2n, parts = cells.map((cell) => cellOf(cell, values));
  let lowest = 0;
  for (const { digits, power } of parts) if (digits && power < lowest) lowest = power;
  return {
    cells: parts.map(({ digits, power }) => (digits ? digits * base ** BigInt(power - lowest) : 0n)),
    scale: base ** BigInt(-lowest),
  };
}

// Fractions times a positive whole number, which makes all of them whole.
export function whole(values, most = ENOUGH) {
  const common = values.reduce((found, { bottom }) => lcm(found, bottom, most), 1n);
  return { cells: values.map(({ top, bottom }) => top * (common / bottom)), scale: common };
}

export function show({ top, bottom }, most = 26) { // a fraction as people read it
  const text = bottom === 1n ? `${top}` : `${top}/${bottom}`;
  if (text.length <= most) return text.replace("-", "−");
  const digits = `${abs(top)}`.length - `${bottom}`.length, places = 12n;
  if (Math.abs(digits) > 12) return `${top < 0n ? "−" : ""}about 10^${digits}`;
  const scaled = (abs(top) * 10n ** places) / bottom, head = `${scaled}`.padStart(13, "0");
  return `${top < 0n ? "−" : ""}${head.slice(0, -12)}.${head.slice(-12).slice(0, 8)}…`;
}

// SHA-256 of pieces of bytes, by the browser; null where it offers none, as on a page that came over an open connection.
export async function sha256(pieces) {
  if (!globalThis.crypto?.subtle) return null;
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) { all.set(piece, at); at += piece.length; }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const utf8 = (text) => new TextEncoder().encode(text);
