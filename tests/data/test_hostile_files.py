"""Hostile files are refused in one line within bounded memory: sizes that lie, lines without end, odd archives."""

import gzip
import io
import json
import random
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import linsep
from linsep import read
from linsep.errors import ReadError

ROOM = 5 << 30  # bytes of address space, of which libraries take the most
PROGRAM = f"""
import json, resource, sys, warnings
warnings.simplefilter("ignore")
import linsep, numba, pyarrow.parquet, pyarrow.feather
from linsep.data.read import read
resource.setrlimit(resource.RLIMIT_AS, ({ROOM}, {ROOM}))
def opened(path):
    return linsep.load(path) if path.endswith((".linsep", ".safetensors")) else read(path).to_arrays()
for path in sys.argv[1:]:
    try:
        opened(path)
        said = ""
    except (ValueError, OSError) as error:
        said = str(error) or type(error).__name__
    print(json.dumps([path, said]), flush=True)
"""


def judged(paths):
    """Return what is said of each file; an empty text if it was read."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)], capture_output=True, text=True, check=False, timeout=240
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0, (done.stderr[-800:], len(found), str(paths[min(len(found), len(paths) - 1)]))
    return [found[str(path)] for path in paths]


def npy(shape, data=b"", kind="<f8"):
    """An NPY file that says it has this shape."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": kind, "fortran_order": False, "shape": shape})
    return header.getvalue() + data


def npz(**members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return held.getvalue()


def liars():
    """Yield names and contents of files that promise far more than they have."""
    row = struct.pack("<3d", 1, 2, 0)
    for shape in ((10**12, 3), (3, 10**12), (2**62, 2**62), (-1, 3), (10**9, 10**9)):
        yield f"{shape[0]}x{shape[1]}.npy", npy(shape, row)
        yield f"{shape[0]}x{shape[1]}.npz", npz(X=npy(shape, row), y=npy((shape[0],), row, "<i8"))
    yield "header.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{"
    yield "nested.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 200_000) + b"(" * 200_000
    small = {"data": npy((1,), row[:8]), "indices": npy((1,), bytes(8), "<i8"), "y": npy((2,), bytes(16), "<i8")}
    for n, d in ((10**15, 3), (2, 10**15), (2, 2**31 - 1)):
        ends = npy((3,), struct.pack("<3q", 0, 1, 1), "<i8")
        yield f"csr{n}-{d}.npz", npz(**small, indptr=ends, shape=npy((2,), struct.pack("<2q", n, d), "<i8"))
    yield "labels.npz", npz(X=npy((2, 1), bytes(16)), y=npy((2,), b"", f"<U{2**28}"))
    yield "line.csv.gz", gzip.compress(b"1" * 40_000_000, 1)
    yield "line.csv.zst", pa.compress(b"1" * 40_000_000, "zstd", asbytes=True)
    yield (
        "columns.csv.gz",
        gzip.compress(b",".join([b"x"] * 4_000_000) + b"\n" + b",".join([b"1"] * 4_000_000) + b"\n", 1),
    )
    frame = pa.compress(b"x,y\n1,a\n2,b\n", "zstd", asbytes=True)
    yield "size.csv.zst", frame[:4] + b"\xe0" + struct.pack("<Q", 2**62) + frame[6:]
    for index in (2**28, 2**31, 2**62, 10**30):
        yield f"{index}.svm", f"1 1:1 {index}:1\n-1 1:-1\n".encode()
        yield f"{index}.svm.gz", gzip.compress(f"1 1:1 {index}:1\n-1 1:-1\n".encode())
    yield "index.svm", b"1 " + b"9" * 30_000_000 + b":1\n"
    header = {"W": {"dtype": "F64", "shape": [2**40, 2**20], "data_offsets": [0, 2**63]}}
    text = json.dumps(header).encode()
    yield "shape.safetensors", struct.pack("<Q", len(text)) + text + bytes(64)
    yield "length.safetensors", struct.pack("<Q", 2**63) + text
    yield "nested.safetensors", struct.pack("<Q", 200_000) + b'{"a":' * 40_000
    yield "shape.linsep", struct.pack("<Q", len(text)) + text + bytes(64)


def test_sizes_that_lie_are_not_believed(tmp_path):
    names = []
    for name, content in liars():
        (tmp_path / name).write_bytes(content)
        names.append(name)
    for name, said in zip(names, judged([tmp_path / name for name in names]), strict=True):
        assert said, name
        assert "\n" not in said.strip(), (name, said)


@pytest.fixture
def honest(tmp_path):
    """Files of every format that are as they say."""
    X, y = np.arange(40.0).reshape(20, 2), np.array(["a", "b"] * 10)
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "k": y})
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    np.savez_compressed(tmp_path / "t.npz", X=X, y=np.arange(20) % 2)
    np.save(tmp_path / "t.npy", np.column_stack((X, np.arange(20) % 2)))
    text = "".join(f"{u},{v},{k}\n" for (u, v), k in zip(X.tolist(), y.tolist(), strict=True)).encode()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "t.csv.zst").write_bytes(pa.compress(text, "zstd", asbytes=True))
    linsep.save(linsep.Perceptron(max_iter=2000).fit([[0.0], [1.0], [3.0]], [0, 0, 1]), tmp_path / "t.linsep")
    return sorted(tmp_path.glob("t.*"))


def test_numbers_in_binary_files_may_be_anything(honest, tmp_path):
    """Eight bytes anywhere become a huge number: sizes, offsets and counts of all formats among them."""
    rng, files = random.Random(0), []
    for path in honest:
        content = path.read_bytes()
        for k in range(40):
            at, width = rng.randrange(len(content)), rng.choice((1, 2, 4, 8))
            huge = rng.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", struct.pack("<q", 2**40), bytes(8)))[:width]
            (tmp_path / f"{k}{path.name}").write_bytes(content[:at] + huge + content[at + width :])
            files.append(tmp_path / f"{k}{path.name}")
    said = judged(files)
    assert "" in said  # some changes matter to nobody
    assert len([text for text in said if text]) > len(files) // 3


# ---------------------------------------------------------------------------------------------------------------
# Lines


@pytest.mark.parametrize("line", [b"1,", b"x", b'"', b"1 ", b"1:1 "])
@pytest.mark.parametrize("ending", ["csv.gz", "svm.gz"])
def test_a_line_without_an_end(tmp_path, line, ending):
    path = tmp_path / f"t.{ending}"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(line * (2**20 // len(line)))
    with pytest.raises(ReadError, match=r"line has more than [\d,]+ bytes|more than 131,072 columns"):
        read(path).to_arrays()


# ---------------------------------------------------------------------------------------------------------------
# Archives of arrays

CSR = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2], "y": [0, 1]}
TWO = "X must be a two-dimensional array of real numbers"


@pytest.mark.parametrize(("members", "said"), [
    ({"a": [1]}, "expected arrays X and y, or those of a sparse matrix and y; the file holds a"),
    ({"X": np.zeros((2, 2))}, "has no labels"),
    ({"X": np.ones(3), "y": np.ones(3)}, TWO),
    ({"X": np.ones((2, 2), complex), "y": np.ones(2)}, TWO),
    ({**CSR, "shape": [2]}, "shape must be two numbers"),
    ({**CSR, "shape": [2.0, 2.0]}, "shape must be two numbers"),
    ({**CSR, "shape": [2, -1]}, "the rows have no columns"),
    ({**CSR, "shape": [3, 2]}, "the arrays of the CSR matrix do not fit together"),
    ({**CSR, "shape": [10**12, 2]}, "the arrays of the CSR matrix do not fit together"),
    ({**CSR, "indptr": [0, 2]}, "the arrays of the CSR matrix do not fit together"),
    ({**CSR, "data": [1.0]}, "the arrays of the CSR matrix do not fit together"),
    ({**CSR, "indices": np.ones(2)}, "the arrays of the CSR matrix do not have the right"),
    ({**CSR, "indices": [0, 2]}, "a column of the CSR matrix is not among its 2 columns"),
    ({**CSR, "indices": [0, -1]}, "a column of the CSR matrix is not among its 2 columns"),
    ({**CSR, "indptr": [0, 2, 1]}, "the row pointers"),
    ({**CSR, "indptr": [1, 1, 2]}, "the row pointers"),
    ({**CSR, "indptr": [0, 1, 9]}, "the row pointers"),
    ({**CSR, "y": [1]}, "has 2 rows, but y has shape"),
    ({**CSR, "format": b"csc"}, "holds a sparse matrix that is not in CSR format"),
])  # fmt: skip
def test_arrays_that_are_no_rows(tmp_path, members, said):
    np.savez(tmp_path / "a.npz", **members)
    with pytest.raises(ReadError) as caught:
        read(tmp_path / "a.npz").to_arrays()
    assert str(caught.value).startswith(f"{tmp_path / 'a.npz'}: {said}")
    if set(members) == {"X"}:
        assert read(tmp_path / "a.npz", labels=False).to_arrays()[1] is None


@pytest.mark.parametrize(("members", "said"), [
    ({"X": ((1, 2**25), 2**28), "y": ((1,), 8)}, "33,554,432 columns are more than the limit (max_features="),
    ({"X": ((2**25 + 1, 1), 2**28 + 8), "y": ((1,), 8)}, "X would grow from "),
    ({"X": ((2, 0), 0), "y": ((2,), 16)}, "the rows have no columns"),
    ({"X": ((2, 1), 16), "y": ((2,), 16000, "<U2000")}, "its labels take 8,000 bytes each"),
    ({"data": ((10**6,), 8 * 10**6), "indices": ((10**6,), 4 * 10**6, "<i4"), "indptr": ((2,), 16, "<i8"),
      "shape": ((2,), 16, "<i8"), "y": ((1,), 8)}, "the rows have no columns"),
    ({"X": ((2, 1000), 16), "y": ((2,), 16)}, "X is shorter than its header says"),
    ({"X": ((2, 2), 31), "y": ((2,), 16)}, "X is shorter than its header says"),
])  # fmt: skip
def test_archives_that_unfold(tmp_path, members, said):
    """Arrays of zeros take few bytes, and may have more or fewer of them than their headers say."""
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, (shape, size, *kind) in members.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(npy(shape, kind=kind[0] if kind else "<f8"))
                for start in range(0, size, 1 << 20):
                    member.write(bytes(min(1 << 20, size - start)))
    with pytest.raises(ReadError) as caught:
        read(path).to_arrays()
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_header_that_is_none(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(X=b"\x93NUMPY\x01\x00\x05\x00{'a'}", y=npy((2,), bytes(16))))
    with pytest.raises(ReadError, match="is damaged, or not an archive of arrays"):
        read(tmp_path / "a.npz")
