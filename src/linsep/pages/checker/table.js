// Tables: the one that comes with the page, and CSV files that a visitor drops onto it. Nothing leaves the page.

import { DECIMAL, Fails, Malformed, quote } from "./exact.js";
import { fields, flag, list, strip, text } from "./document.js";

// The table of the page: a line a row, cells apart by blanks; "7:0.5" is a cell in column 7, and what is left out is 0.
export function ownTable({ labels, lines, features }) {
  const cells = (i) => {
    const row = Array(features).fill("0");
    let next = 0;
    for (const word of lines[i] ? lines[i].split(" ") : []) {
      const [head, tail] = word.split(":"), j = tail === undefined ? next : Number(head);
      row[j] = tail ?? head;
      next = j + 1;
    }
    return row;
  };
  return { rows: lines.length, cells, label: (i) => labels[i] };
}

// The lines of CSV text as Python's csv module reads them, empty ones left out.
export function* csvLines(text, delimiter) {
  let cells = [], cell = "", state = "start"; // of a cell: start, plain, quoted, closed
  const ended = () => { cells.push(cell); cell = ""; state = "start"; };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (state === "quoted") {
      if (sign === '"') state = "closed";
      else cell += sign;
    } else if (state === "closed" && sign === '"') { cell += sign; state = "quoted"; }
    else if (sign === delimiter) ended();
    else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && text[at + 1] === "\n") at++;
      if (cells.length || cell || state === "closed") { ended(); yield cells; }
      cells = [];
      state = "start";
    } else if (sign === '"' && state === "start") state = "quoted";
    else { cell += sign; state = "plain"; }
    if (cell.length > 1 << 20) throw new Malformed("a cell is longer than a megabyte");
  }
  if (cells.length || cell || state === "closed" || state === "quoted") { ended(); yield cells; }
}

const READING = { columns: list, target: text, delimiter: text, header: flag, missing: text, point: text, gaps: list, encoding: text };
const PLAIN_GAPS = ["", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"];

// How a file becomes rows: as the document says; if it does not, every column but the last is a number.
export function readingOf(reading) {
  if (!reading) return null;
  const how = fields(reading, READING, "reading"), signs = how.delimiter.length === 1 && how.delimiter !== '"';
  if (!signs || ![".", ","].includes(how.point) || !["error", "zero", "drop", "indicator"].includes(how.missing) || !how.gaps.every(text)) {
    throw new Malformed("reading: the document does not say how cells are read");
  }
  const columns = how.columns.map((column) => {
    const { column: name, kind = "number", level, hashed } = Object.fromEntries(column);
    if (!text(name) || !text(kind) || hashed !== undefined) throw new Malformed("some columns of this proof are hashed: linsep verify can read them");
    if (kind !== "number" && kind !== "boolean" && kind !== "percent" && !kind.startsWith("grouped:")) {
      throw new Malformed(`this page cannot read the column ${quote(name)} of the kind ${quote(kind)}: python linsep_check.py can`);
    }
    return { name, kind, level, isLevel: column.has("level") };
  });
  return { ...how, columns };
}

export function decoded(bytes, encoding = "utf-8") {
  if (encoding === "latin-1") return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const name = { "utf-8": "utf-8", cp1252: "windows-1252", "utf-16": bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-16le" }[encoding];
  if (!name) throw new Malformed(`the encoding ${quote(encoding)} is not known`);
  try { return new TextDecoder(name, { fatal: true }).decode(bytes); } catch { throw new Malformed(`the file is not ${encoding} text`); }
}

// The table of some CSV files (bytes each), read as a document says.
export function csvTable(reading, files) {
  const how = readingOf(reading), rows = [], labels = [];
  for (const bytes of files) {
    const lines = csvLines(decoded(bytes, how?.encoding), how?.delimiter ?? ","), { value: first } = lines.next();
    if (!first) throw new Malformed("the file is empty");
    const header = how?.header ?? !first.some((cell) => DECIMAL.test(strip(cell)));
    const names = header ? first.map(strip) : first.map((_, j) => String(j)), place = new Map(names.map((name, j) => [name, j]));
    const plain = { columns: names.slice(0, -1).map((name) => ({ name, kind: "number" })), target: names.at(-1), missing: "error", point: ".", gaps: PLAIN_GAPS };
    const used = how ?? plain;
    for (const name of [...used.columns.map((column) => column.name), used.target]) if (!place.has(name)) throw new Fails(`there is no column ${quote(name)}`);
    const take = (cells) => {
      if (cells.length !== names.length) throw new Malformed(`line ${labels.length + 1} of the data has ${cells.length} cells where ${names.length} are expected`);
      const row = rowOf(cells, used, place);
      if (row) { rows.push(row); labels.push(strip(cells[place.get(used.target)])); }
    };
    if (!header) take(first);
    for (const cells of lines) take(cells);
  }
  return { rows: rows.length, cells: (i) => rows[i], label: (i) => labels[i] };
}
function rowOf(cells, how, place) { // null for a row that is left out
  let gap = how.gaps.includes(strip(cells[place.get(how.target)]));
  const row = how.columns.map(({ name, kind, level, isLevel }) => {
    const cell = cells[place.get(name)], word = strip(cell), absent = how.gaps.includes(word);
    if (isLevel) return level === (absent ? null : cell) ? "1" : "0";
    if (absent) { gap ||= how.missing === "error" || how.missing === "drop"; return "0"; }
    if (kind === "boolean" && /^(true|false)$/i.test(word)) return word.toLowerCase() === "true" ? "1" : "0";
    let digits = kind === "percent" ? word.replace(/%$/, "") : word;
    if (kind.startsWith("grouped:")) digits = digits.replaceAll(kind.slice(8), "");
    digits = digits.replaceAll(how.point, ".");
    if (!DECIMAL.test(digits)) throw new Malformed(`${quote(word)} in column ${quote(name)} is not a number`);
    return digits;
  });
  if (gap && how.missing !== "drop") throw new Malformed("a cell has no value");
  return gap ? null : row;
}
