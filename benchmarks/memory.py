"""Private memory of training from files of 2 GB, and of a verdict on them: LIBSVM text, compressed too, and Parquet."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row, at_most, sized
from benchmarks.files import OURS, measure, sparse_text
from benchmarks.from_files import VERDICT


def parquet(path: Path, megabytes: int) -> None:
    """Write a table of 50 random numbers and a label, which do not compress, row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(50)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(megabytes * 1_000_000 // (400 * 50_000)):
            X = rng.standard_normal((50_000, 50))
            columns = [*X.T, np.where(X[:, 0] + X[:, 1] > 0, 1, -1).astype(np.int8)]
            writer.write_table(pa.table(columns, schema=schema))


def run(megabytes: int = sized(2048, 20)) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        svm, vw = sparse_text(folder, megabytes)
        vw.unlink()
        packed, table = folder / "data.svm.gz", folder / "data.parquet"
        with svm.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as file:
            shutil.copyfileobj(plain, file, 1 << 20)
        parquet(table, megabytes)
        for path in (svm, packed, table):
            cost = measure(OURS, path, times=1)
            size = path.stat().st_size / 1e6
            job = f"private MB of one pass over {path.name}, {size:.0f} MB, {size / cost.work:.0f} MB/s"
            yield at_most(job, cost.memory, "400 MB", 400, 1)
        for path in (svm, table):
            cost = measure(VERDICT, path, times=1)
            job = f"private MB of a verdict on {path.name}, {path.stat().st_size / 1e6:.0f} MB, {cost.work:.1f} s"
            yield at_most(job, cost.memory, "400 MB", 400, 1)
