"""Record golden runs: ``python -m tests.record_golden [--missing] [PATTERN ...]``.

Without patterns all cases are recorded, else those whose names match one (``files/shuffled/*``); ``--missing`` adds
the cases that have no record.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
import warnings
from fnmatch import fnmatch

import matplotlib

sys.path.insert(0, os.path.dirname(__file__))

from golden_cases import CASES
from golden_tools import RECORD, plain


def main(arguments):
    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    patterns = [each for each in arguments if not each.startswith("--")]
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {"cases": {}}
    record = {}
    for name, run in CASES.items():
        asked = any(fnmatch(name, pattern) for pattern in patterns) if patterns else "--missing" not in arguments
        started = time.perf_counter()
        if asked or name not in before["cases"]:
            try:
                with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                    record[name] = plain(run())
                print(f"{time.perf_counter() - started:6.1f} s {name}")
            except Exception as error:
                print(f"NOT RECORDED: {name}: {error!r}")
        else:
            record[name] = before["cases"][name]
    lines = [f"{json.dumps(name)}: {json.dumps(found, ensure_ascii=False)}" for name, found in record.items()]
    RECORD.write_text('{"cases": {\n' + ",\n".join(lines) + "\n}}\n")  # a line per case


if __name__ == "__main__":
    main(sys.argv[1:])
