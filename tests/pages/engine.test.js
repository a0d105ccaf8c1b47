// The engine of the explorer, from the definitions. Run with `node --test tests/pages`.

import assert from "node:assert/strict";
import test from "node:test";

const pages = "../../src/linsep/pages";
const { study, answered } = await import(`${pages}/explorer/engine/engine.js`);
const { drawSeed, heldOut, shuffled, simpleRandom } = await import(`${pages}/explorer/engine/random.js`);
const { separate } = await import(`${pages}/explorer/engine/verdict.js`);
const { largestMargin } = await import(`${pages}/explorer/engine/margin.js`);
const { fewestErrors } = await import(`${pages}/explorer/engine/fewest.js`);
const { space } = await import(`${pages}/explorer/engine/features.js`);
const { bound, proofSteps } = await import(`${pages}/explorer/engine/theory.js`);
const { SETTINGS, checkedSettings, usual } = await import(`${pages}/explorer/engine/settings.js`);
const { checkedPoints, readText } = await import(`${pages}/explorer/engine/points.js`);
const { proofDocument, provedTable } = await import(`${pages}/explorer/engine/proof.js`);
const { checkProof } = await import(`${pages}/checker/check.js`);
const { packed, pythonScript, unpacked } = await import(`${pages}/explorer/page/sharing.js`);
const { PRESETS } = await import(`${pages}/explorer/page/presets.js`);

const WORKED = { rows: [[1, 0], [0, -1], [0, 1], [-1, 0]], labels: [1, -1, 1, -1] };
const XOR = { rows: [[0, 0], [1, 1], [0, 1], [1, 0]], labels: [-1, -1, 1, 1] };
const near = (found, expected, tolerance = 1e-12) => assert.ok(Math.abs(found - expected) <= tolerance * (1 + Math.abs(expected)), `${found} is not ${expected}`);

test("random numbers are those of NumPy", () => {
  assert.deepEqual([0, 7, 123456].map(drawSeed), [209652396, 327741615, 545331265]); // RandomState(s).randint(2**31 - 1)
  assert.deepEqual([...shuffled(10, 5, 3)], [7, 4, 5, 3, 1, 0, 8, 6, 9, 2]); // default_rng((5, 0, 3)).shuffle(arange(10))
  assert.equal([...heldOut(30, 12345, 0.3)].join(""), "110101110000000101100111100011");
});

test("the worked example attains its bound", () => {
  const found = study(WORKED, { fit_intercept: false }), { run } = found, theory = answered(found.question);
  assert.deepEqual([run.trace, [...run.kept], run.stop, run.radius], [[0, 1], [1, 1, 0], "separated", 1]);
  assert.equal(theory.verdict.kind, "separable");
  near(theory.bounding.margin, Math.SQRT1_2);
  const steps = proofSteps(run, theory.bounding, found.settings);
  assert.deepEqual([steps.allowed, steps.holds], [2, true]);
});

test("exclusive or is refuted by four points, and solved by products", async () => {
  const found = study(XOR, { max_updates: 50 }), { verdict, fewest } = answered(found.question);
  assert.deepEqual([verdict.kind, verdict.core.map(({ row }) => row), verdict.core.map(({ multiplier }) => multiplier)], ["overlap", [0, 1, 2, 3], [1n, 1n, 1n, 1n]]);
  assert.deepEqual([fewest.lower, fewest.upper], [1, 1]);
  for (const features of ["quadratic", "poly kernel", "rbf kernel"]) assert.equal(study(XOR, { features }).run.stop, "separated");
});

test("strict mistakes never leave zero weights, violations do", () => {
  assert.deepEqual([study(WORKED, { mistake: "strict" }).run.mistakes, study(WORKED, { mistake: "strict" }).run.stop], [0, "no_mistakes"]);
  assert.ok(study(WORKED, { mistake: "strict", start: [0, -1, 0] }).run.mistakes > 0);
});

test("a list of visits is made once, exactly", () => {
  const { run } = study(WORKED, { order: "list", visits: [2, 0, 2], fit_intercept: false });
  assert.deepEqual([run.visits, run.trace, run.stop], [[2, 0, 2], [2, 0], "separated"]);
  assert.equal(study(WORKED, { order: "list", visits: [2], fit_intercept: false }).run.stop, "visited");
  assert.throws(() => study(WORKED, { order: "list", visits: [4] }), /p5/);
});

test("the weights after k mistakes are sums of rows", () => {
  const found = study(PRESETS.five.make().points, { order: "shuffled", eta0: 0.5 }), { run, codes } = found;
  for (const k of [0, 1, 5, run.mistakes]) {
    const w = new Float64Array(run.machines * 3);
    for (let t = 0; t < k; t++) for (const [c, sign] of [[codes[run.trace[t]], 0.5], [run.concerned[t], -0.5]]) [...found.seen[run.trace[t]], 1].forEach((v, j) => { w[3 * c + j] += sign * v; });
    w.forEach((v, j) => near(run.weightsAt(k)[j], v));
  }
});

test("a verdict on touching classes is quasi, on one shared point an overlap or quasi as the rest spans", () => {
  const { points } = PRESETS.touching.make(), codes = points.labels.map((label) => (label > 0 ? 1 : 0)), verdict = separate(points.rows, codes, 2, 1);
  assert.equal(verdict.kind, "quasi");
  const values = points.rows.map((row, i) => (codes[i] ? 1 : -1) * (row[0] * Number(verdict.direction[0]) + row[1] * Number(verdict.direction[1]) + Number(verdict.direction[2])));
  assert.ok(Math.min(...values) === 0 && Math.max(...values) > 0);
  assert.equal(separate([[1], [1]], [0, 1], 2, 1).kind, "overlap");
  assert.equal(separate([[1], [1], [2]], [0, 1, 1], 2, 1).kind, "quasi");
});

test("tiny differences of doubles decide exactly", () => {
  assert.equal(separate([[0.1 + 0.2], [0.3]], [1, 0], 2, 1).kind, "separable"); // 0.1 + 0.2 is larger than 0.3 in binary
  assert.equal(separate([[1e-300, 1], [1e-300, 1]], [1, 0], 2, 1).kind, "overlap");
  assert.equal(separate([[1e300], [1e300 * (1 + 2 ** -52)]], [0, 1], 2, 1).kind, "separable");
});

test("the largest margin of two segments is half their distance", () => {
  const margin = largestMargin([[0, 0], [0, 4], [3, 1], [3, 9]], [0, 0, 1, 1], 2, "affine");
  near(margin.margin, 1.5);
  near(margin.w[0][0], 1);
  near(margin.w[0][2], -1.5);
  const three = largestMargin([[0, 0], [2, 0], [1, Math.sqrt(3)]], [0, 1, 2], 3, "affine");
  near(three.margin, three.upper, 1e-9);
});

test("the fewest errors are those of brute force over all lines through two points", () => {
  const random = simpleRandom(3);
  for (let trial = 0; trial < 60; trial++) {
    const n = 4 + (trial % 5), rows = Array.from({ length: n }, () => [Math.floor(5 * random.uniform()), Math.floor(5 * random.uniform())]), codes = rows.map(() => (random.uniform() < 0.5 ? 1 : 0));
    codes[0] = 0;
    codes[1] = 1;
    let least = n;
    for (let chosen = 0; chosen < 1 << n; chosen++) { // all sets of rows to leave out
      const left = [...rows.keys()].filter((i) => !((chosen >> i) & 1)), size = n - left.length;
      if (size >= least) continue;
      const kinds = new Set(left.map((i) => codes[i]));
      if (kinds.size < 2 || separate(left.map((i) => rows[i]), left.map((i) => codes[i]), 2, 1).kind === "separable") least = size;
    }
    const { lower, upper, rows: wrong } = fewestErrors(space(rows, "columns"), codes, 2, 1, []);
    assert.deepEqual([lower, upper, wrong.length], [least, least, least], JSON.stringify([rows, codes]));
  }
});

test("the bound from other first weights is the largest k of the squeeze", () => {
  const { limit, allowed } = bound({ radius: 3, offset: 0, many: false, eta: 0.5, margin: 0.7, along: -1, square: 2 });
  const holds = (k) => -1 + k * 0.5 * 0.7 <= Math.sqrt(2 + k * 0.25 * 9);
  assert.ok(holds(allowed) && !holds(allowed + 1) && holds(limit * (1 - 1e-9)) && !holds(limit * (1 + 1e-9)));
});

test("every preset runs, and every proof holds when it is checked", async () => {
  for (const [key, { make }] of Object.entries(PRESETS)) {
    const { points, settings } = make(), found = study(points, settings);
    assert.ok(found.run, key);
    if (!found.question) continue;
    const theory = answered(found.question), document = await proofDocument(found, theory.verdict), result = await checkProof(document, provedTable(found));
    assert.ok(result.holds, `${key}: ${result.reason}`);
    assert.equal(result.kind, theory.verdict.kind);
    if (theory.bounding) assert.ok(proofSteps(found.run, theory.bounding, found.settings).holds, key);
  }
});

test("held-out points are not learned from, and noise changes training labels alone", () => {
  const { points } = PRESETS.overfitting.make(), found = study(points, { hold_out: 0.5, noise: 0.3, max_iter: 20 }), plain = study(points, { max_iter: 20 });
  assert.ok(found.run.trace.every((i) => !found.test[i]));
  assert.ok(found.run.held.length > 30 && found.run.passes.every(({ test: error }) => error >= 0 && error <= 1));
  assert.deepEqual(plain.codes.map((code, i) => code !== found.codes[i]), [...found.flipped].map(Boolean));
  assert.ok([...found.flipped].some(Boolean) && [...found.flipped].every((flip, i) => !flip || !found.test[i]));
});

test("settings are checked by what is declared", () => {
  assert.deepEqual(Object.keys(usual()), Object.keys(SETTINGS));
  for (const bad of [{ order: "backwards" }, { eta0: 0 }, { eta0: "1" }, { max_iter: 1.5 }, { nothing: 1 }, { keep: "best", order: "first" }, { mistake: "prediction", update_margin: 1 }, { columns: [1, 1] }, { features: "rbf kernel", order: "worst" }]) {
    assert.throws(() => checkedSettings(bad), Error, JSON.stringify(bad));
  }
});

test("points are read from text, and what is none is named", () => {
  assert.deepEqual(readText("a,b,kind\n1,2,x\n3,4.5,y\n"), { rows: [[1, 2], [3, 4.5]], labels: ["x", "y"], names: ["a", "b"] });
  assert.deepEqual(readText("1 2 -1\n3 4 1").labels, [-1, 1]);
  assert.throws(() => readText("1,2,0\n3,oops,1"), /line 2, column 2/);
  assert.throws(() => checkedPoints({ rows: [[1], [NaN]], labels: [0, 1] }), /point 2/);
  assert.throws(() => checkedPoints({ rows: [[1], [1, 2]], labels: [0, 1] }), /point 2/);
});

test("a link holds points, settings and step, and nothing else is one", () => {
  const state = { rows: WORKED.rows, labels: WORKED.labels, names: [], settings: checkedSettings({ fit_intercept: false, order: "worst" }), k: 1, at: 2, by: "visit", hand: [1, 0, 0.5] };
  const found = unpacked(`#${packed(state)}`);
  assert.deepEqual([found.points, found.settings, found.step, found.hand], [WORKED, { fit_intercept: false, order: "worst" }, { k: 1, at: 2, by: "visit" }, [1, 0, 0.5]]);
  for (const text of ["", "#", "#hello", "#e30"]) assert.ok(!unpacked(text)?.points);
});

test("a script names the settings that differ", () => {
  const text = pythonScript(study(WORKED, { fit_intercept: false, order: "shuffled", start: [1, 2] }));
  assert.match(text, /Perceptron\(fit_intercept=False, max_updates=5000, prove=False\)/);
  assert.match(text, /coef_init=\[\[1, 2\]\]/);
});
