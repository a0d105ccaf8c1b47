// Points with labels: checked, read from text, with noise and held-out points as the settings say.

import { drawSeed, heldOut, simpleRandom } from "./random.js";

export const MOST_POINTS = 3000;
export const MOST_COLUMNS = 32;
export const MOST_CLASSES = 10;
const LARGEST = 1e12;

// Points {rows, labels, names} as they should be; an Error says what is wrong.
export function checkedPoints({ rows, labels, names = [] }) {
  if (!Array.isArray(rows) || !Array.isArray(labels) || !Array.isArray(names)) throw new Error("points must have rows and labels");
  if (rows.length > MOST_POINTS) throw new Error(`this page shows up to ${MOST_POINTS} points, these are ${rows.length}`);
  if (rows.length !== labels.length) throw new Error(`${rows.length} points, but ${labels.length} labels`);
  const width = rows[0]?.length ?? 2;
  if (!(width >= 1 && width <= MOST_COLUMNS)) throw new Error(`this page takes 1 to ${MOST_COLUMNS} columns`);
  rows.forEach((row, i) => {
    if (!Array.isArray(row) || row.length !== width) throw new Error(`point ${i + 1} has not ${width} coordinates, as the first point has`);
    if (!row.every((v) => typeof v === "number" && Math.abs(v) <= LARGEST)) throw new Error(`point ${i + 1}: a coordinate is a number up to ${LARGEST}`);
  });
  if (names.length && names.length !== width) throw new Error(`${names.length} names for ${width} columns`);
  if (!labels.every((label) => typeof label === "string" || Number.isFinite(label))) throw new Error("a label is a number or a word");
  const whole = labels.every((label) => Number.isInteger(label)), found = labels.map((label) => (whole ? label : String(label).slice(0, 40)));
  if (new Set(found).size > MOST_CLASSES) throw new Error(`this page shows up to ${MOST_CLASSES} classes, these are ${new Set(found).size}: is the last column the label?`);
  return { rows: rows.map((row) => row.map((v) => v + 0 || 0)), labels: found, names: names.map((name) => String(name).slice(0, 40)) };
}
export const sortedClasses = (labels) => [...new Set(labels)].sort((p, q) => (typeof p === "number" ? p - q : p < q ? -1 : p > q ? 1 : 0));

// Points from lines of text, the label last; the first line may name the columns.
export function readText(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) throw new Error("nothing to read: write one point per line, its label last");
  const delimiter = ["\t", ";", ","].find((mark) => lines[0].includes(mark)) ?? /\s+/;
  const table = lines.map((line) => line.trim().split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const names = table[0].slice(0, -1).some((cell) => !isNumber(cell)) ? table.shift() : null;
  if (!table.length) throw new Error("there is a line of names, but no points");
  if (table[0].length < 2) throw new Error("a line needs coordinates and, last, a label");
  const rows = table.map((cells, i) => {
    if (cells.length !== table[0].length) throw new Error(`line ${i + 1 + (names ? 1 : 0)} has ${cells.length} cells, not ${table[0].length}`);
    return cells.slice(0, -1).map((cell, j) => {
      if (!isNumber(cell)) throw new Error(`line ${i + 1 + (names ? 1 : 0)}, column ${j + 1}: “${cell.slice(0, 20)}” is not a number`);
      return Number(cell);
    });
  });
  const words = table.map((cells) => cells.at(-1)), numbers = words.every((word) => isNumber(word) && Number.isInteger(Number(word)));
  return checkedPoints({ rows, labels: numbers ? words.map(Number) : words, names: names ? names.slice(0, -1) : [] });
}

// What is learned from: class numbers with the noise of the settings, and which points are held out.
export function prepared(labels, classes, settings) {
  const n = labels.length, seed = drawSeed(settings.random_state);
  const share = settings.hold_out || (settings.early_stopping ? 0.1 : 0);
  const test = share ? heldOut(n, seed, share) : new Uint8Array(n), codes = labels.map((label) => classes.indexOf(label)), flipped = new Uint8Array(n);
  const { uniform } = simpleRandom(settings.random_state + 1);
  for (let i = 0; i < n; i++) { // each point has its own number: more noise flips more of them, never others
    if (uniform() >= settings.noise || test[i] || classes.length < 2) continue;
    flipped[i] = 1;
    codes[i] = (codes[i] + 1) % classes.length;
  }
  return { codes, test, flipped };
}
