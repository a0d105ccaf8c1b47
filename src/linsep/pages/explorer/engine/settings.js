// The settings of a run, declared once: the page makes its fields from them, links and files are checked against them. The names are
// those of linsep.Perceptron, and so are the meanings.

import { FEATURES, isKernel } from "./features.js";

const choice = (label, options, help, more = {}) => ({ kind: "choice", label, options, help, ...more });
const number = (label, least, most, help, more = {}) => ({ kind: "number", label, least, most, help, ...more });
const check = (label, help, more = {}) => ({ kind: "check", label, help, ...more });

export const SETTINGS = {
  order: choice("Order", ["cyclic", "shuffled", "first", "worst", "list"], "In which order points are visited: one after the other, in a new random order each pass, always the first that is wrong, always the worst, or exactly the visits of a list, once."),
  visits: { kind: "list", label: "Visits", help: "The list: numbers of points, 1 for p1, in the order in which they are visited.", value: [], from: 1 },
  eta0: number("Learning rate η", 1e-6, 1e6, "How far a mistake moves the weights. From zero weights it changes only their length.", { value: 1 }),
  fit_intercept: check("Offset b", "Without an offset the plane goes through the origin.", { value: true }),
  features: choice("Features", FEATURES, "What the perceptron sees of a point: its columns; also their squares and products (x², xy); or a kernel, (x·z + 1)² or exp(−γ‖x − z‖²), without an offset."),
  mistake: choice("A mistake is", ["violation", "strict", "prediction"], "When to update: if y·s(x) ≤ 0 (violation; the subgradient k = −1), only if y·s(x) < 0 (strict; k = 0, which never leaves w = 0), or if the predicted label is wrong (prediction)."),
  keep: choice("Keep", ["last", "best", "average", "vote"], "Which weights the run returns: the last, those with the fewest errors (pocket), their mean over all visits, or a vote of all."),
  multi_class: choice("More classes", ["argmax", "ovr"], "More than two classes: all compared (argmax), or each against the rest (ovr).", { many: true }),
  noise: number("Noise", 0, 0.5, "Share of the training points whose label is wrong.", { value: 0, step: 0.05, slider: true }),
  hold_out: number("Held out", 0, 0.6, "Share of the points that are not learned from: the error on them is the test error.", { value: 0, step: 0.05, slider: true }),
  start: { kind: "list", label: "First weights w₀", help: "A weight for each column, then the offset; empty is zero. For two classes.", value: [], more: true },
  on_plane: choice("On the plane predict", [-1, 1], "Which side is predicted for a point on the plane; of two classes.", { more: true }),
  update_margin: number("Update margin", 0, 1e6, "Update also when y·s(x) is positive but at most this.", { value: 0, more: true }),
  max_iter: number("Passes at most", 1, 10_000, "The run ends after this many passes.", { value: 1000, whole: true, more: true }),
  max_updates: number("Mistakes at most", 1, 20_000, "The run ends after this many mistakes.", { value: 5000, whole: true, more: true }),
  tol: number("Loss plateau, tol", 0, 1e6, "Stop when the loss at the end of a pass no longer falls by more than this; empty is off.", { value: null, maybe: true, more: true }),
  target_margin: number("Margin to refute", 1e-6, 1e6, "Stop once the mistakes prove that no plane has this margin; empty is off.", { value: null, maybe: true, more: true }),
  early_stopping: check("Early stopping", "Hold out a tenth of the points, or the share above, and stop when the error on them gets no better.", { value: false, more: true }),
  gamma: number("γ of the rbf kernel", 1e-6, 1e6, "How narrow the kernel is.", { value: 1, more: true }),
  random_state: number("Seed", 0, 2 ** 31 - 1, "Of the shuffled order, the held-out points and the noise.", { value: 0, whole: true, more: true }),
};
export const usual = () => Object.fromEntries(Object.entries(SETTINGS).map(([key, { value, options }]) => [key, Array.isArray(value) ? [...value] : value === undefined ? options[0] : value]));

// Settings as they should be, from what a link, a file or a field says; an Error names what is wrong.
export function checkedSettings(given) {
  const found = usual();
  for (const [key, value] of Object.entries(given ?? {})) {
    if (key === "columns") { found.columns = value; continue; }
    const declared = SETTINGS[key];
    if (!declared) throw new Error(`there is no setting ${key}`);
    const { kind, label, options, least, most, whole, maybe } = declared;
    if (kind === "choice" && !options.includes(value)) throw new Error(`${label}: choose one of ${options.join(", ")}`);
    if (kind === "check" && typeof value !== "boolean") throw new Error(`${label}: on or off`);
    if (kind === "list" && !(Array.isArray(value) && value.length <= 1000 && value.every(Number.isFinite))) throw new Error(`${label}: write numbers with blanks between them`);
    if (kind === "number" && !(maybe && value === null)) {
      if (typeof value !== "number" || !(value >= least && value <= most) || (whole && !Number.isInteger(value))) throw new Error(`${label}: a ${whole ? "whole " : ""}number from ${least} to ${most}`);
    }
    found[key] = value;
  }
  const { columns } = found;
  if (columns !== undefined && columns !== null && !(Array.isArray(columns) && columns.length === 2 && columns.every((j) => Number.isInteger(j) && j >= 0) && columns[0] !== columns[1])) throw new Error("Columns: choose two different ones");
  if (!found.visits.every((i) => Number.isInteger(i) && i >= 0)) throw new Error("Visits: write numbers of points, such as 1 2 1 3");
  if (found.keep !== "last" && ["first", "worst"].includes(found.order)) throw new Error(`Keep ${found.keep} needs passes over all points, and the order ${found.order} makes none`);
  if (found.multi_class === "ovr" && ["first", "worst"].includes(found.order)) throw new Error(`the order ${found.order} picks one point for all classes together: choose argmax`);
  if (found.mistake !== "violation" && found.update_margin > 0) throw new Error(`an update margin goes with violations, not with ${found.mistake} mistakes`);
  const { features, order, mistake, update_margin: margin, keep, tol, target_margin: target } = found;
  if (isKernel(features) && (!["cyclic", "shuffled"].includes(order) || mistake !== "violation" || margin || keep === "best" || tol !== null || target !== null)) {
    throw new Error("a kernel goes with cyclic or shuffled orders, violations and budgets, and keeps the last, the average or the vote");
  }
  return found;
}
