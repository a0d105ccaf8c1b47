"""The checker in JavaScript under node, for tests that judge many documents."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from linsep.pages import checker

NODE = shutil.which("node")
_PROGRAM = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
(async () => {
  const found = [];
  for (const { document, table } of cases.documents.map((d) => ({ document: d.text, table: cases.tables[d.table] }))) {
    const { holds, reason } = await linsepChecker.checkProof(document, linsepChecker.tableOf(table));
    found.push([holds, reason ?? ""]);
  }
  process.stdout.write(JSON.stringify(found));
})();
"""


def judged(documents, X, y):
    """Return for each document whether the proof holds for these rows, and why not."""
    if NODE is None:
        pytest.skip("no node on this machine: apt-get install nodejs")
    table = checker.table_of(np.array(X), np.array(y))
    sent = {"tables": [table], "documents": [{"text": text, "table": 0} for text in documents]}
    done = subprocess.run(
        [NODE, "-e", checker.script() + _PROGRAM],
        input=json.dumps(sent), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
