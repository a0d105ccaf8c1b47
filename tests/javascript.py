"""The checker in JavaScript under node, for tests that judge many documents."""

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

from linsep.pages import checker

NODE = shutil.which("node")
_PROGRAM = """
const { cases, tables } = JSON.parse(require("fs").readFileSync(0, "utf8"));
(async () => {
  const { checkProof, csvTable, open, tableOf } = linsepChecker, found = [];
  for (const { document, table, file } of cases) {
    try {
      const bytes = file !== undefined && Buffer.from(file, "base64");
      const data = bytes ? csvTable(await open(document), [bytes]) : tableOf(tables[table]);
      const { holds, malformed, reason } = await checkProof(document, data);
      found.push([holds ? true : malformed ? null : false, reason ?? ""]);
    } catch (error) {
      if (error.constructor.name !== "Malformed") throw error;
      found.push([null, error.message]);
    }
  }
  process.stdout.write(JSON.stringify(found));
})();
"""


def answers(cases, tables=()):
    """Return what the checker says of each case, True, False or None for what is not a proof, and why."""
    if NODE is None:
        pytest.skip("no node on this machine: apt-get install nodejs")
    script = checker.script()
    done = subprocess.run(
        [NODE, "-e", script + _PROGRAM], input=json.dumps({"cases": cases, "tables": tables}),
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def answered(documents, X, y):
    """Return the answers about documents on these rows."""
    return answers([{"document": text, "table": 0} for text in documents], [checker.table_of(np.array(X), np.array(y))])


def answered_of_files(pairs):
    """Return the answers about documents on files, given as bytes."""
    return answers([{"document": text, "file": base64.b64encode(data).decode()} for text, data in pairs])


def judged(documents, X, y):
    """Return for each document whether the proof holds for these rows, and why not."""
    return [(found is True, why) for found, why in answered(documents, X, y)]
