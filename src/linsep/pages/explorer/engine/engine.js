// Everything that the page computes, in one place: a run, and what is known of its rows.

import { isKernel, space } from "./features.js";
import { checkedPoints, prepared, sortedClasses } from "./points.js";
import { train } from "./run.js";
import { checkedSettings } from "./settings.js";
import { theory } from "./theory.js";

// The run on points {rows, labels} under settings; `question` is what `theory` answers, null with a kernel.
export function study(points, given) {
  const { rows, labels } = checkedPoints(points), settings = checkedSettings(given), classes = sortedClasses(labels);
  const far = settings.order === "list" && settings.visits.find((i) => i >= rows.length);
  if (far || far === 0) throw new Error(`Visits: there is no p${far + 1}, the points are p1 to p${rows.length}`);
  const { columns } = settings, seen = columns && rows[0]?.length > 2 ? rows.map((row) => columns.map((j) => row[j])) : rows;
  const found = { settings, classes, ...prepared(labels, classes, settings), seen, space: null, run: null, question: null };
  const learned = [...found.codes.keys()].filter((i) => !found.test[i]);
  if (classes.length < 2 || !learned.length) return found;
  found.space = space(seen, settings.features, settings.gamma);
  found.run = train(found.space, found.codes, classes.length, settings, found.test);
  if (isKernel(settings.features) || new Set(learned.map((i) => found.codes[i])).size < classes.length) return found;
  const { run } = found;
  found.question = {
    rows: learned.map((i) => Array.from(found.space.rows[i])), codes: learned.map((i) => found.codes[i]), learned, classes: classes.length,
    offset: run.offset, apart: run.apart, machines: run.machines, weights: [Array.from(run.weightsAt(run.mistakes)), Array.from(run.kept)],
  };
  return found;
}
// The answer, with rows numbered as those of the page.
export function answered(question) {
  const found = theory(question), { learned } = question, rename = (list) => list?.map((entry) => ({ ...entry, row: learned[entry.row] })) ?? null;
  const margin = (one) => one && { ...one, support: one.support.map((i) => learned[i]) };
  return {
    ...found, verdict: { ...found.verdict, refutation: rename(found.verdict.refutation), core: rename(found.verdict.core) },
    drawn: margin(found.drawn), bounding: margin(found.bounding), fewest: found.fewest && { ...found.fewest, rows: found.fewest.rows.map((i) => learned[i]) },
    rest: found.rest?.map((one) => ({ ...one, core: rename(one.core), drawn: margin(one.drawn), bounding: margin(one.bounding) })) ?? null,
  };
}
