"""Files whose sizes lie are refused in one line within a bounded address space, whatever they say of themselves."""

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
