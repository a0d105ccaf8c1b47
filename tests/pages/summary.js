// What the page's engine says of a problem, as plain values that Python can compare. Run by Node on a file of problems, or called
// in a browser with the engine of the page.

export function summary({ study, answered }, { points, settings }) {
  const { run, question } = study(points, settings), found = question && answered(question), margin = (one) => one && [one.margin, one.upper];
  return {
    stop: run.stop, trace: run.trace, rivals: run.concerned, leads: run.leads, mistakes: run.mistakes, visited: run.visited, counts: [...run.counts],
    weights: [...run.weightsAt(run.mistakes)], kept: [...run.kept], errors: run.errors, margin: run.margin, radius: run.radius,
    passes: run.passes.map(({ mistakes, loss, test }) => [mistakes, loss, test]),
    verdict: found && found.verdict.kind, direction: found?.verdict.direction?.map(String) ?? null,
    refutation: found?.verdict.refutation?.map(({ row, rival, multiplier }) => [row, rival, String(multiplier)]) ?? null,
    drawn: margin(found?.drawn), bounding: margin(found?.bounding),
    fewest: found?.fewest ? [found.fewest.lower, found.fewest.upper, found.fewest.rows] : null,
    rest: found?.rest?.map(({ kind, bounding }) => [kind, margin(bounding)]) ?? null,
  };
}

if (typeof process !== "undefined" && process.argv[2]) {
  const { readFileSync } = await import("node:fs");
  const engine = await import("../../src/linsep/pages/explorer/engine/engine.js");
  const problems = JSON.parse(readFileSync(process.argv[2], "utf8"));
  console.log(JSON.stringify(problems.map((problem) => summary(engine, problem))));
}
