// The perceptron, to the letter of the library: the same visits, mistakes and weights, bit for bit where sums are exact.
//
// Weights are one array: for each machine `width` weights, then its offset. Two classes have one machine, whose positive
// side is the second class; more have one each.

import { drawSeed, shuffled } from "./random.js";

const MOST_VISITS = 2_000_000; // of which the row is remembered
const MOST_NUMBERS = 2_000_000; // of weights that are remembered; of a longer run some are computed again

// What a plane makes of the rows: y s(x), or the lead of the true class over its highest rival, and who that is.
function lead(space, i, code, machines, w) {
  const size = space.width + 1;
  if (machines === 1) {
    const score = space.dot(i, w, 0) + w[space.width];
    return { v: code ? score : -score, rival: 0 };
  }
  let own = 0, rival = 0, highest = -Infinity;
  for (let c = 0; c < machines; c++) {
    const score = space.dot(i, w, c * size) + w[c * size + space.width];
    if (c === code) own = score;
    else if (score > highest) { rival = c; highest = score; }
  }
  return { v: own - highest, rival };
}
export const isWrong = (v, code, rival, machines, onPlane) =>
  v < 0 || (v === 0 && (machines === 1 ? (code ? 1 : -1) !== onPlane : rival < code)); // of tied classes the lowest is predicted
export function norm(w, machines, width, offset = false) {
  let sum = 0;
  for (let c = 0; c < machines; c++) for (let j = 0; j < width + offset; j++) sum += w[c * (width + 1) + j] ** 2;
  return Math.sqrt(sum);
}

// Returns errors, smallest y s(x) and loss of weights on some rows.
export function survey(space, codes, rows, machines, w, onPlane) {
  let errors = 0, smallest = Infinity, loss = 0;
  for (const i of rows) {
    const { v, rival } = lead(space, i, codes[i], machines, w);
    if (isWrong(v, codes[i], rival, machines, onPlane)) errors++;
    smallest = Math.min(smallest, v);
    loss += Math.max(0, -v);
  }
  return { errors, smallest, loss };
}

// Whether an example is a mistake; `side` is positive where a score of 0, or a tie, is predicted right.
function mistakeRule({ mistake, update_margin, on_plane }, compared) {
  if (mistake === "strict") return (v) => v < 0;
  if (mistake === "prediction") return (v, side) => v < 0 || (v === 0 && side * (compared ? 1 : on_plane) < 0);
  return (v) => v <= update_margin;
}

// Runs the perceptron. `codes` are class numbers; `settings` those of settings.js; rows that `test` marks are not learned.
export function train(space, codes, classes, settings, test) {
  const n = codes.length, machines = classes > 2 ? classes : 1, apart = machines > 1 && settings.multi_class === "ovr";
  const { width } = space, size = width + 1, offset = settings.fit_intercept && !space.kernel ? 1 : 0, eta = settings.eta0;
  const seed = drawSeed(settings.random_state), early = settings.early_stopping;
  const used = [...codes.keys()].filter((i) => !test[i]), held = [...codes.keys()].filter((i) => test[i]);
  const isMistake = mistakeRule(settings, machines > 1 && !apart);
  const step = Math.max(1, Math.ceil((settings.max_updates * machines * size) / MOST_NUMBERS)); // every so many are remembered
  const w = new Float64Array(machines * size), A = new Float64Array(machines * size);
  settings.start.forEach((value, j) => { if (machines === 1 && j < size - 1 + offset) w[j] = value; });
  const first = w.slice(), startNorm = norm(first, machines, width, true);

  const run = {
    n, machines, apart, width, offset, eta, classes, used, held, first, fromZero: startNorm === 0,
    trace: [], concerned: [], leads: [], at: [], // of each mistake: row, rival or machine, y s(x), number of its visit from 1
    visits: [], visited: 0, passes: [], stop: "", snapshots: [w.slice()], step,
  };
  let made = 0, visited = 0, allowed = Infinity;
  const spent = new Float64Array(machines);
  if (settings.target_margin !== null) {
    const gain = eta * settings.target_margin, radius = Math.max(...used.map((i) => space.square(i))) + offset;
    const margin = settings.mistake === "violation" ? settings.update_margin : 0;
    allowed = ((eta * eta * radius * (machines > 1 && !apart ? 2 : 1) + 2 * eta * margin + 2 * gain * startNorm) / (gain * gain)) * (1 + 1e-12);
  }

  function update(i, c, amount) {
    space.add(i, amount, w, c * size);
    w[c * size + width] += amount * offset;
    if (settings.keep !== "average") return;
    space.add(i, amount * (visited - 1), A, c * size);
    A[c * size + width] += amount * (visited - 1) * offset;
  }
  function note(i, c, v) {
    run.trace.push(i);
    run.concerned.push(c);
    run.leads.push(v);
    run.at.push(visited);
    made++;
    spent[c]++;
    if (made % step === 0) run.snapshots.push(w.slice());
  }
  // Visits a row; false if the run has made as many mistakes as it may.
  function visit(i, pass, limit) {
    run.visited = ++visited;
    if (visited <= MOST_VISITS) run.visits.push(i);
    if (!apart) {
      const { v, rival } = lead(space, i, codes[i], machines, w), sign = machines === 1 && !codes[i] ? -1 : 1;
      if (!Number.isFinite(v)) throw new RangeError("a score overflowed: use smaller numbers");
      pass.loss += Math.max(0, -v);
      if (!isMistake(v, machines === 1 ? sign : rival < codes[i] ? -1 : 1)) return true;
      if (machines === 1) update(i, 0, sign * eta);
      else { update(i, codes[i], eta); update(i, rival, -eta); }
      note(i, machines === 1 ? 0 : rival, v);
      return made < limit;
    }
    for (let c = 0; c < machines; c++) {
      const sign = c === codes[i] ? 1 : -1, v = sign * (space.dot(i, w, c * size) + w[c * size + width]);
      if (!Number.isFinite(v)) throw new RangeError("a score overflowed: use smaller numbers");
      pass.loss += Math.max(0, -v);
      if (!isMistake(v, sign)) continue;
      update(i, c, sign * eta);
      note(i, c, v);
      if (made >= limit) return false;
    }
    return true;
  }
  function onePass(number) {
    const pass = { mistakes: 0, loss: 0, begun: made, from: visited }, { order } = settings;
    let limit = Math.min(settings.max_updates, apart ? Infinity : Math.floor(allowed) + 1);
    if (order === "first" || order === "worst") limit = Math.min(limit, made + 1);
    let rows = used;
    if (order === "list") rows = settings.visits.filter((i) => !test[i]);
    if (order === "shuffled") rows = Array.from(shuffled(used.length, seed, number), (j) => used[j]);
    let leads = null;
    if (order === "worst") {
      leads = used.map((i) => lead(space, i, codes[i], machines, w).v);
      const least = leads.reduce((a, b) => Math.min(a, b), Infinity);
      rows = used.filter((_, j) => leads[j] === least); // of equals the lowest that is a mistake
    }
    for (const i of rows) if (!visit(i, pass, limit)) break;
    if (leads) pass.loss = leads.reduce((sum, v) => sum + Math.max(0, -v), 0);
    pass.mistakes = made - pass.begun;
    pass.end = made;
    pass.to = visited;
    const now = survey(space, codes, used, machines, w, settings.on_plane);
    pass.errors = now.errors;
    if (settings.tol !== null) pass.loss = apart ? apartLoss() : now.loss;
    if (settings.keep === "best") pocket.passEnds(pass);
    run.passes.push(pass);
    pass.test = held.length ? wrongAmong(held) / held.length : null;
    return pass;
  }
  function apartLoss() { // of machines that are separate, each with its own
    let loss = 0;
    for (const i of used) for (let c = 0; c < machines; c++) loss += Math.max(0, (c === codes[i] ? -1 : 1) * (space.dot(i, w, c * size) + w[c * size + width]));
    return loss;
  }
  const weightsAt = (k) => replay(run, space, codes, k);
  const pocket = new Pocket((k) => survey(space, codes, used, machines, weightsAt(k), settings.on_plane).errors);
  const kept = () => {
    if (settings.keep === "average") return w.map((value, j) => value - A[j] / Math.max(1, visited));
    return settings.keep === "best" ? weightsAt(pocket.k(made)) : w.slice();
  };
  const wrongAmong = (rows) => {
    if (settings.keep === "vote") return rows.filter((i) => votedClass(run, votes(run, space.scores(space.rows[i]), settings.on_plane, weightsAt), settings.on_plane) !== codes[i]).length;
    return survey(space, codes, rows, machines, kept(), settings.on_plane).errors;
  };

  pocket.run = run;
  while (!run.stop) {
    const pass = onePass(run.passes.length);
    if (pass.mistakes === 0 && settings.order !== "list") run.stop = "separated";
    else if ((apart ? Math.max(...spent) : made) > allowed) run.stop = "margin_refuted";
    else if (made >= settings.max_updates) run.stop = "max_updates";
    else if (settings.order === "list") run.stop = "visited";
    else if (early && held.length && stalled(run.passes.map(({ test }) => test), settings.tol ?? 0)) run.stop = "validation";
    else if (!(early && held.length) && settings.tol !== null && stalled(run.passes.map(({ loss }) => loss), settings.tol)) run.stop = "loss_plateau";
    else if (run.passes.length >= settings.max_iter) run.stop = "max_iter";
  }
  if (run.stop === "visited" || (run.stop === "separated" && settings.mistake !== "violation")) {
    let least = Infinity;
    for (const i of used) {
      if (!apart) { least = Math.min(least, lead(space, i, codes[i], machines, w).v); continue; }
      for (let c = 0; c < machines; c++) least = Math.min(least, (c === codes[i] ? 1 : -1) * (space.dot(i, w, c * size) + w[c * size + width]));
    }
    if (run.stop === "visited") run.stop = least > 0 ? "separated" : "visited";
    else if (!(least > 0)) run.stop = "no_mistakes"; // a row on the plane may be no mistake
  }
  run.mistakes = made;
  run.weightsAt = weightsAt;
  run.kept = kept();
  run.radius = Math.sqrt(Math.max(0, ...used.map((i) => space.square(i))));
  const plane = survey(space, codes, used, machines, run.kept, settings.on_plane), length = norm(run.kept, machines, width);
  run.errors = plane.errors;
  run.margin = space.kernel || !length ? null : plane.smallest / length;
  run.counts = counted(run, made);
  return run;
}
export function counted(run, k) { // mistakes on each row among the first k
  const counts = new Uint32Array(run.n);
  for (let t = 0; t < k; t++) counts[run.trace[t]]++;
  return counts;
}
function stalled(values, tol, patience = 5) { // none of the last values went below the best one before them
  let best = Infinity, waited = 0;
  for (const value of values) {
    waited = value < best - tol ? 0 : waited + 1;
    best = Math.min(best, value);
  }
  return waited >= patience;
}

// The weights after k mistakes, from those remembered before.
function replay(run, space, codes, k) {
  const begin = Math.floor(k / run.step), w = run.snapshots[begin].slice(), size = run.width + 1;
  for (let t = begin * run.step; t < k; t++) {
    const i = run.trace[t], c = run.concerned[t];
    const move = (machine, amount) => { space.add(i, amount, w, machine * size); w[machine * size + run.width] += amount * run.offset; };
    if (run.machines === 1) move(0, codes[i] ? run.eta : -run.eta);
    else if (run.apart) move(c, c === codes[i] ? run.eta : -run.eta);
    else { move(codes[i], run.eta); move(c, -run.eta); }
  }
  return w;
}

// Gallant's pocket with ratchet: of each pass the weights with the longest run of right answers compete, and from the
// second pass on the last ones too.
class Pocket {
  constructor(errors) { Object.assign(this, { errors, right: 0, longest: 0, candidate: null, best: null, fewest: Infinity }); }
  passEnds(pass) {
    const { at } = this.run, before = this.run.passes.length > 0;
    const ends = [...new Set(at.slice(pass.begun, pass.end))]; // visits with mistakes, counted from 1
    let begun = pass.from; // visits before the present weights
    for (const [number, end] of ends.entries()) {
      const length = end - 1 - begun + (number === 0 ? this.right : 0);
      if (length > this.longest) { this.longest = length; this.candidate = pass.begun + countBefore(at, begun, pass.begun, pass.end); }
      begun = end;
    }
    this.right = ends.length ? pass.to - begun : this.right + pass.to - pass.from;
    const clean = pass.mistakes === 0, fronts = [pass.end];
    if (!clean && this.candidate !== null && this.right <= this.longest) {
      fronts.unshift(this.candidate);
      if (!before) fronts.pop();
    }
    for (const k of fronts) {
      const wrong = clean ? 0 : this.errors(k);
      if (this.best === null || wrong < this.fewest) { this.best = k; this.fewest = wrong; }
    }
    this.longest = 0;
    this.candidate = null;
  }
  k(made) { return this.best ?? made; }
}
function countBefore(at, visit, from, to) { // mistakes of the pass up to a visit
  let k = from;
  while (k < to && at[k] <= visit) k++;
  return k - from;
}

// The votes of all weights of a run on a point, one for every visit that each survived (Freund & Schapire 1999).
export function votes(run, score, onPlane, weightsAt) {
  const size = run.width + 1, found = new Float64Array(run.machines), k = run.trace.length;
  for (let t = 0, begun = 0; t <= k; t++) {
    const end = t < k ? run.at[t] - 1 : run.visited, span = end - begun; // a mistake at visit t ends the weights before it
    begun = end;
    if (!span) continue;
    const w = weightsAt(t), scores = Array.from({ length: run.machines }, (_, c) => score(w, c * size) + w[c * size + run.width]);
    if (run.machines > 1 && !run.apart) found[scores.indexOf(Math.max(...scores))] += span;
    else scores.forEach((s, c) => { found[c] += span * (s > 0 ? 1 : s < 0 ? -1 : onPlane); });
  }
  return found;
}
export function votedClass(run, found, onPlane) {
  return run.machines > 1 ? found.indexOf(Math.max(...found)) : (found[0] || onPlane) > 0 ? 1 : 0;
}

// The class that weights predict for a point, from its score function.
export function predicted(run, score, w, onPlane) {
  const size = run.width + 1;
  if (run.machines === 1) return ((score(w, 0) + w[run.width]) || onPlane) > 0 ? 1 : 0;
  let best = 0, highest = -Infinity;
  for (let c = 0; c < run.machines; c++) { const s = score(w, c * size) + w[c * size + run.width]; if (s > highest) { best = c; highest = s; } }
  return best;
}
