"""Data for tests, and what many of them do with it."""

import contextlib
import gzip
import io
import json
import re
import signal
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from linsep.data.read import read
from linsep.data.source import Source
from linsep.errors import DataNote, ReadError
from linsep.prove.check.linsep_check import digest_of
from linsep.prove.claims import Data
from linsep.prove.numbers.tables import table_of


def quiet(model, *data, **extra):
    """Fit without the warning that a budget was spent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **extra)


def command(*arguments):
    """Run a command in this process; return its exit code and all that it printed."""
    from linsep.cli import main

    printed, before = io.StringIO(), signal.getsignal(signal.SIGINT)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
            main([str(argument) for argument in arguments])
    except SystemExit as ended:
        return ended.code, printed.getvalue()
    finally:
        signal.signal(signal.SIGINT, before)


def dense(X):
    """Return rows as an array, whatever they are stored in."""
    return X.toarray() if sp.issparse(X) else X


def read_rows(data, **options):
    """Return rows and labels of a file, of a source, or of a text, as lists."""
    X, y = (data if isinstance(data, Source) else read(_opened(data), **options)).to_arrays()
    return dense(X).tolist(), None if y is None else y.tolist()


def noted(data, **options):
    """Read a file or a text; return the source, and the notes on it."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        source = read(_opened(data), **options)
        source.to_arrays()
    assert all(issubclass(note.category, DataNote) for note in notes)
    assert [str(note.message) for note in notes] == list(map(str, source.notes))
    return source, list(map(str, source.notes))


def refusal(data, **options):
    """Return the one line, without folders, with which a file or a text is refused."""
    with pytest.raises(ReadError) as caught:
        read_rows(data, **options)
    assert "\n" not in str(caught.value)
    return re.sub(r"[^\s']*/(?=[\w.-]+\.\w)", "", str(caught.value))


def _opened(data):
    return io.BytesIO(data.encode() if isinstance(data, str) else data) if isinstance(data, str | bytes) else data


def data_of(X, y, classes, offset):
    """Return rows in machine numbers with their class numbers, as verdicts want them."""
    found = table_of(X, y, classes)
    return Data(found.stored(), found.codes, found.X.shape[1], len(classes), offset)


def sealed(content):
    """Return a document whose digest fits, as a forger would write it: it is no secret."""
    return json.dumps({**content, "digest": digest_of(content)})


def few(cases, quick):
    """Return the cases of a test: the first ones as they are, the others marked slow."""
    return [
        case if place < quick else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for place, case in enumerate(cases)
    ]


def integers(seed, n=25, d=3, classes=2, low=-4, high=4):
    """Return small whole numbers, whose sums are exact, with random labels, of every class at least one.

    They are floats: every other type of numbers compiles the loops once more.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.integers(low, high + 1, (n, d)).astype(float), rng.integers(0, classes, n)
    y[:classes] = range(classes)
    return X, y


def whole(n=160, d=4, classes=2, seed=0, noise=0.0):
    """Return whole numbers with labels of random planes, none of them close unless there is noise."""
    rng = np.random.RandomState(seed)
    X = rng.randint(-6, 7, (8 * n, d))
    S = X @ rng.randint(-8, 9, (d, classes)) + rng.randint(-5, 6, classes)
    two = np.sort(S, axis=1)
    clear = np.flatnonzero(two[:, -1] - two[:, -2] > 3)[:n]
    y = np.where(rng.random_sample(n) < noise, rng.randint(0, classes, n), S.argmax(axis=1)[clear])
    return X[clear].astype(np.float64), y


def write(folder, form, X, y):
    """Write rows with labels to a file of a format, which may be compressed, as its ending says; return its path."""
    path = folder / f"data.{form}"
    kind, _, packed = form.partition(".")
    if kind in ("parquet", "arrow"):
        table = pa.table([*X.T, y], [*(f"x{j}" for j in range(X.shape[1])), "label"])
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=50)
        else:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table, max_chunksize=50)
    elif kind == "npy":
        np.save(path, np.column_stack((X, y)))
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    else:
        text = io.BytesIO()
        if kind == "svm":
            dump_svmlight_file(sp.csr_matrix(X), y, text, zero_based=False)
        else:
            np.savetxt(text, np.column_stack((X, y)), delimiter="\t" if kind == "tsv" else ",", fmt="%.17g")
        pack = {"gz": gzip.compress, "zst": lambda data: pa.compress(data, "zstd", asbytes=True)}.get(packed, bytes)
        path.write_bytes(pack(text.getvalue()))
    return path
