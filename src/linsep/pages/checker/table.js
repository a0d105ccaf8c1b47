// Tables: the one that comes with the page, and CSV files that a visitor drops onto it. Nothing leaves the page.

import { DECIMAL, Malformed, quote } from "./exact.js";
import { fields, flag, list, strip, text, texts } from "./document.js";

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

// The lines of CSV text as RFC 4180 has them; text behind quotes belongs to the cell; empty lines are left out.
export function* csvLines(text, delimiter) {
  let cells = [], cell = "", state = "start"; // of a cell: start, plain, quoted, closed
  const ended = () => { cells.push(cell); cell = ""; state = "start"; };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (state === "quoted") {
      if (sign === '"') state = "closed";
      else cell += sign;
    } else if (state === "closed" && sign === '"') { cell += sign; state = "quoted"; }
    else if (sign === "\0") throw new Malformed("the file is not a text");
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
  if (state === "quoted") throw new Malformed("a quote opens but never closes");
  if (cells.length || cell || state === "closed") { ended(); yield cells; }
}

const READING = { columns: list, target: text, others: texts, delimiter: text, header: flag, missing: text, point: text, gaps: list, encoding: text };
const MOST_CELLS = 2e7;
const PLAIN_GAPS = ["", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"];

// How a file becomes rows: as the document says; if it does not, every column but the last is a number. Numbers and words
// are read here; for dates, products and the like there is linsep_check.py. `parts` columns are the response of a model.
export function readingOf(reading, parts = 0) {
  if (!reading) return null;
  const how = fields(reading, READING, "reading", parts ? [] : ["others"]), signs = how.delimiter.length === 1 && how.delimiter !== '"';
  if (!signs || ![".", ","].includes(how.point) || !["error", "zero", "drop", "indicator"].includes(how.missing) || !how.gaps.every(text)) {
    throw new Malformed("reading: the document does not say how cells are read");
  }
  const others = how.others ?? [];
  if (parts ? others.length + 1 !== parts : others.length) throw new Malformed("reading: it does not say where the response is");
  const columns = how.columns.map((column) => {
    const { column: name, kind = "number", level } = Object.fromEntries(column), known = ["column", "kind", "level"];
    if (kind !== "number" || ![...column.keys()].every((key) => known.includes(key))) {
      throw new Malformed(`this page cannot read the column ${quote(name ?? "of a product")}, which is neither numbers nor words: python linsep_check.py can`);
    }
    return { name, level, isLevel: column.has("level") };
  });
  return { ...how, columns, others };
}

// Bytes 128 to 159 of cp1252; 0 where there is none. Some versions of TextDecoder take them for Latin-1.
const CP1252 = "€\0‚ƒ„…†‡ˆ‰Š‹Œ\0Ž\0\0‘’“”•–—˜™š›œ\0žŸ";
export function decoded(bytes, encoding = "utf-8") {
  if (encoding === "latin-1") return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  if (encoding === "cp1252") {
    if (bytes.some((byte) => CP1252[byte - 128] === "\0")) throw new Malformed("the file is not cp1252 text");
    return Array.from(bytes, (byte) => CP1252[byte - 128] ?? String.fromCharCode(byte)).join("");
  }
  const name = { "utf-8": "utf-8", "utf-16": bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-16le" }[encoding];
  if (!name) throw new Malformed(`the encoding ${quote(encoding)} is not known`);
  try { return new TextDecoder(name, { fatal: true }).decode(bytes); } catch { throw new Malformed(`the file is not ${encoding} text`); }
}

// The table of some CSV files (bytes each), read as a document says.
export function csvTable({ reading, response, values }, files) {
  const model = response?.length ?? 0, how = readingOf(reading, model), rows = [], labels = [];
  for (const bytes of files) {
    const lines = csvLines(decoded(bytes, how?.encoding), how?.delimiter ?? ","), { value: first } = lines.next();
    if (!first) throw new Malformed("the file is empty");
    const header = how?.header ?? !first.some((cell) => DECIMAL.test(strip(cell)));
    const names = header ? first.map(strip) : first.map((_, j) => String(j)), place = new Map(names.map((name, j) => [name, j])), last = names.length - (model || 1);
    const plain = {
      columns: names.slice(0, Math.max(0, last)).map((name) => ({ name })), target: names.at(last), others: names.slice(last + 1),
      missing: "error", point: ".", gaps: PLAIN_GAPS,
    };
    const used = { ...(how ?? plain), model, values, gaps: new Set((how ?? plain).gaps) }, said = [used.target, ...used.others];
    for (const name of [...used.columns.map(({ name }) => name), ...said]) if (names.filter((each) => each === name).length !== 1) throw new Malformed(`there is no column ${quote(name)}, or more than one`);
    const take = (cells) => {
      if (cells.length !== names.length) throw new Malformed(`line ${labels.length + 1} of the data has ${cells.length} cells where ${names.length} are expected`);
      if (rows.length * used.columns.length > MOST_CELLS) throw new Malformed("the table is too large for this page: python linsep_check.py can read it");
      const row = rowOf(cells, used, place, said);
      if (row) { rows.push(row); labels.push(model ? said.map((name) => responseText(strip(cells[place.get(name)]), used.point)) : strip(cells[place.get(used.target)])); }
    };
    if (!header) take(first);
    for (const cells of lines) take(cells);
  }
  return { rows: rows.length, cells: (i) => rows[i], label: (i) => labels[i] };
}
function responseText(word, point) { // a number of a model is written with a decimal point whatever the file has
  const number = word.replaceAll(point, ".");
  return DECIMAL.test(number) ? number : word;
}
function rowOf(cells, how, place, said) { // null for a row that is left out
  const absent = (name) => how.gaps.has(strip(cells[place.get(name)])), strict = how.missing === "error" || how.missing === "drop";
  const gap = said.some(absent) || how.columns.some(({ name, isLevel }) => (how.missing === "drop" || (!isLevel && strict)) && absent(name));
  if (gap && how.missing !== "drop") throw new Malformed("a cell has no value");
  return gap ? null : how.columns.map((column) => cellOfColumn(cells[place.get(column.name)], column, how));
}
function cellOfColumn(cell, { name, level, isLevel }, how) { // as a text
  const word = strip(cell), absent = how.gaps.has(word);
  if (isLevel) return level === (absent ? null : cell) ? "1" : "0";
  if (absent) return "0";
  const digits = cell.replace(/^[ \t]+|[ \t]+$/g, "").replaceAll(how.point, ".");
  if (!DECIMAL.test(digits) || !Number.isFinite(Number(digits))) throw new Malformed(`${quote(word)} in column ${quote(name)} is not a number`);
  return digits;
}
