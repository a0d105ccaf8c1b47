// What several checks share: the time they may take, the hash of a table, and exact linear algebra.

import { Fails, Malformed, fraction, gcd, hex, nearest, sha256, utf8, whole } from "./exact.js";
import { labelText } from "./document.js";

const PRIMES = [67_108_859, 67_108_837, 67_108_819]; // products of two remainders stay below 2^53

// The time that a check may take; the page is given a chance to draw every now and then.
export class Patience {
  constructor(seconds) {
    this.end = performance.now() + 1000 * seconds;
    this.pause = performance.now() + 40;
  }
  async ask() {
    const now = performance.now();
    if (now > this.end) throw new Malformed("the check takes too long here: check it with python linsep_check.py");
    if (now > this.pause) {
      await new Promise((done) => setTimeout(done));
      this.pause = performance.now() + 40;
    }
  }
}

// ------------------------------------------------------------------------------------------------------- the fingerprint

const long = (value) => { const made = new DataView(new ArrayBuffer(8)); made.setBigInt64(0, BigInt(value), true); return new Uint8Array(made.buffer); };

// The hash of a table; null where the browser offers none.
export async function tableHash(table, patience = new Patience(60)) {
  const [names, sizes, cells] = [[], [], []];
  for (let i = 0; i < table.rows; i++) {
    if (i % 64 === 0) await patience.ask();
    const near = table.cells(i).map(nearest);
    for (const said of [table.label(i)].flat()) { const label = utf8(labelText(said)); names.push(long(label.length), label); }
    const used = [...near.keys()].filter((j) => near[j] !== 0);
    sizes.push(long(used.length));
    if (2 * used.length > near.length) cells.push(new Uint8Array(doubles(near)));
    else for (const j of used) cells.push(long(j), new Uint8Array(doubles([near[j]])));
  }
  const parts = await Promise.all([names, sizes, cells].map(sha256));
  return parts[0] && hex(await sha256(parts));
}
export async function fingerprint(claim, table, patience) {
  const found = await tableHash(table, patience);
  if (found === null) return `${table.rows} rows. Their fingerprint was not compared: this browser offers no SHA-256 here. What follows was checked on them.`;
  if (found !== claim.sha256) throw new Fails("these are not the data it was written for: a value or a label differs, or the order of the rows");
  return `${table.rows} rows. Their fingerprint is that of the proof: ${found.slice(0, 16)}…`;
}
function doubles(values) { // without the sign of a zero
  const made = new DataView(new ArrayBuffer(8 * values.length));
  values.forEach((value, j) => made.setFloat64(8 * j, value || 0, true));
  return made.buffer;
}

// -------------------------------------------------------------------------------------------------------- linear algebra

export const dot = (u, v) => u.reduce((sum, a, j) => (a && v[j] ? sum + a * v[j] : sum), 0n);


// The rank modulo a prime is never larger than the rank; the best of a few primes nearly always is the rank. With the
// prime 2 thousands of columns take seconds.
export async function rankAtLeast(vectors, patience) {
  const most = Math.min(vectors.length, vectors[0].length);
  let best = await parityRank(vectors, patience);
  for (const prime of PRIMES) {
    if (best < most) best = Math.max(best, await modularRank(vectors.map((v) => Float64Array.from(v, (a) => { const r = Number(a % BigInt(prime)); return r < 0 ? r + prime : r; })), prime, patience));
  }
  return best;
}
async function parityRank(vectors, patience) { // 32 cells are one word
  const width = vectors[0].length, words = Math.ceil(width / 32), basis = new Map(); // by pivot
  for (const vector of vectors) {
    await patience.ask();
    const v = new Int32Array(words);
    vector.forEach((a, j) => { if (a & 1n) v[j >> 5] |= 1 << (j & 31); });
    for (let w = 0; w < words; w++) {
      while (v[w]) {
        const pivot = 32 * w + 31 - Math.clz32(v[w] & -v[w]), row = basis.get(pivot);
        if (!row) { basis.set(pivot, v); w = words; break; }
        for (let k = w; k < words; k++) v[k] ^= row[k];
      }
    }
    if (basis.size === width) break;
  }
  return basis.size;
}
async function modularRank(rows, p, patience) {
  let rank = 0;
  for (let j = 0; j < rows[0].length && rank < rows.length; j++) {
    await patience.ask();
    const at = rows.findIndex((row, i) => i >= rank && row[j]);
    if (at < 0) continue;
    [rows[rank], rows[at]] = [rows[at], rows[rank]];
    const inverse = power(rows[rank][j], p - 2, p);
    for (let i = rank + 1; i < rows.length; i++) {
      if (!rows[i][j]) continue;
      const f = (rows[i][j] * inverse) % p;
      for (let k = j; k < rows[i].length; k++) rows[i][k] = (rows[i][k] + (p - f) * rows[rank][k]) % p;
    }
    rank++;
  }
  return rank;
}
function power(a, n, p) {
  let found = 1;
  for (; n; n = Math.floor(n / 2), a = (a * a) % p) if (n % 2) found = (found * a) % p;
  return found;
}

// Rank and a basis of what is orthogonal to some vectors, by elimination without fractions; each row without common factor.
export async function orthogonal(vectors, patience) {
  const width = vectors[0].length, basis = []; // {pivot, row}: 0 in the pivots of the others
  for (const vector of vectors) {
    let v = vector;
    for (const { pivot, row } of basis) {
      await patience.ask();
      if (v[pivot]) v = reduced(v.map((a, j) => a * row[pivot] - v[pivot] * row[j]));
    }
    const pivot = v.findIndex((a) => a);
    if (pivot < 0) continue;
    for (const one of basis) {
      await patience.ask();
      if (one.row[pivot]) one.row = reduced(one.row.map((a, j) => a * v[pivot] - one.row[pivot] * v[j]));
    }
    basis.push({ pivot, row: v });
    if (basis.length === width) break;
  }
  const pivots = new Set(basis.map(({ pivot }) => pivot)), normals = [];
  for (let free = 0; free < width; free++) {
    if (pivots.has(free)) continue;
    await patience.ask();
    // x_free = 1 and x_pivot = −row_free / row_pivot, times a common denominator
    const parts = Array.from({ length: width }, (_, j) => fraction(j === free ? 1n : 0n));
    for (const { pivot, row } of basis) parts[pivot] = fraction(-row[free], row[pivot]);
    normals.push(whole(parts).cells);
  }
  return { rank: basis.length, normals };
}
function reduced(v) {
  let common = 0n;
  for (const a of v) if (a) { common = gcd(common, a); if (common === 1n) return v; }
  return common > 1n ? v.map((a) => a / common) : v;
}
