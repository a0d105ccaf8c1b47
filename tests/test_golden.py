"""Golden runs: bits, verdicts and words as they were recorded; those of runs are the ones of version 0.1.0.

``golden_*.py`` have the runs, ``golden.json`` what came out then, ``golden/`` models and proofs that 0.1.0 wrote.
When a change is meant, ``python -m tests.record_golden CASE ...`` records single cases anew (a shuffled order of files,
for one, may become another function of the row numbers: ``files/shuffled/*``); the diff of the record then shows it.
"""

import json

import pytest

from golden_cases import CASES
from golden_tools import RECORD, alike, plain

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text())


@pytest.mark.parametrize("name", CASES)
def test_same_as_recorded(name, record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\n".join(alike(plain(CASES[name]()), record["cases"][name])) == ""


def test_every_record_has_its_case(record):
    assert sorted(record["cases"]) == sorted(CASES)
