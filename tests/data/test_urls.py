"""Files elsewhere: a real S3 protocol on loopback, memory, HTTP; networks that fail, and secrets that stay secret."""

import http.server
import io
import itertools
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from linsep import Perceptron, load, read, save, separate, teacher, verify
from linsep.data.files import is_url, masked, replacing
from linsep.errors import ReadError
from linsep.models.exchange import from_liblinear, to_liblinear

SECRET = "sesame-open-sesame"
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def served(**more):
    """Start a server of the S3 protocol, and return its port."""
    environment = os.environ | {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": SECRET} | more
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, text=True,
    ) as running:  # fmt: skip
        yield int(running.stdout.readline())
        running.stdin.close()
        running.wait(10)


@pytest.fixture(scope="module")
def port():
    with served() as number:
        yield number


@pytest.fixture
def bucket(port, monkeypatch):
    """Have the environment name the server and who asks; return a client and a new bucket."""
    environment(monkeypatch, port)
    client = amazon(port)
    name = f"bucket-{next(_numbers)}"
    client.create_bucket(Bucket=name)
    yield client, name
    client.close()


_numbers = itertools.count(1)


def environment(monkeypatch, port, key="key"):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def amazon(port, **who):
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", **who)


def table(n=200, d=3, seed=0):
    """Return a CSV of whole numbers with labels, as bytes."""
    X, y, _ = teacher(n, d, margin=0.1, random_state=seed)
    lines = [",".join([*(f"{value:.4f}" for value in row), f"c{label}"]) for row, label in zip(X, y, strict=True)]
    header = ",".join([*(f"x{j}" for j in range(d)), "label"])
    return "\n".join([header, *lines, ""]).encode()


class Proxy:
    """Between a client and a server: it ends connections after so many bytes of an answer, as often as it is told."""

    def __init__(self, port, after, times):
        self.port, self.after, self.times = port, after, times
        self.cuts = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.own_port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client = self._listening.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, target, answers):
        passed = 0
        with closing(source), closing(target):
            while True:
                try:
                    data = source.recv(1 << 14)
                    passed += len(data)
                    if answers and passed > self.after and self.cuts < self.times:
                        self.cuts += 1
                        target.sendall(data[: len(data) // 2])
                        target.shutdown(socket.SHUT_RDWR)
                        return
                    if not data:
                        target.shutdown(socket.SHUT_WR)
                        return
                    target.sendall(data)
                except OSError:
                    return

    def close(self):
        self._listening.close()


@pytest.mark.parametrize(("path", "url"), [
    ("s3://bucket/key.csv", True), ("gs://b/k", True), ("abfs://c@a/k", True), ("hdfs://host/k", True),
    ("https://host/k?x=1", True), ("memory://k", True), (r"C:\data\x.csv", False), ("C:/x.csv", False),
    ("C://x.csv", False), ("12:30.csv", False), ("notes: a.csv", False), ("a/b.csv", False), ("-", False),
])  # fmt: skip
def test_what_is_a_url(path, url):
    assert is_url(path) == url


@pytest.mark.parametrize("name", [r"C:\data.csv", "12:30.csv", "s3:.csv"])
def test_local_names_with_colons(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with replacing(name) as file:
        file.write(b"1,2,a\n3,4,b\n")
    assert os.listdir(tmp_path) == [name]
    assert read(name).to_arrays()[1].tolist() == ["a", "b"]


@pytest.mark.parametrize(("text", "shown"), [
    ("s3://user:pass@bucket/a.csv", "s3://bucket/a.csv"),
    ("s3://user:pa/ss@bucket/a.csv", "s3://bucket/a.csv"),
    ("https://host/a.csv?token=abc: is gone", "https://host/a.csv is gone"),
    ("cannot open 'https://u:p@host/a?b=c' now", "cannot open 'https://host/a' now"),
    ("a@b.csv?x", "a@b.csv?x"),
])  # fmt: skip
def test_secrets_are_masked(text, shown):
    assert masked(text) == shown


def test_reading_local_files_loads_no_file_systems(tmp_path):
    (tmp_path / "a.csv").write_bytes(table(20))
    code = (
        "import sys, linsep; linsep.read('a.csv').to_arrays();"
        "print([name for name in sys.modules if name.startswith(('pyarrow.fs', 'pyarrow._fs', 'fsspec'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("form", ["csv", "csv.gz", "svm", "npy", "npz", "parquet", "arrow"])
def test_every_format_is_read_and_written(bucket, form, run):
    _, name = bucket
    for place in (f"s3://{name}/rows.{form}", f"rows.{form}"):
        code, _, err = run("generate", "--n", 300, "--d", 4, "--margin", 0.05, place)
        assert code == 0, err
    (X, y), (here, labels) = (read(place).to_arrays() for place in (f"s3://{name}/rows.{form}", f"rows.{form}"))
    assert type(X) is type(here)
    assert abs(X - here).sum() == 0
    assert y.tolist() == labels.tolist()
    small = read(f"s3://{name}/rows.{form}", block_bytes=1000)
    assert sum(len(block.y) for block in small) == 300


def test_patterns(bucket):
    client, name = bucket
    for key in ("in/a-1.csv", "in/a-2.csv", "in/b-1.csv", "in/deep/a-3.csv", "in/a b.csv"):
        client.put_object(Bucket=name, Key=key, Body=table(30))
    assert [file.name for file in read(f"s3://{name}/in/a-*.csv").files] == [
        f"s3://{name}/in/a-1.csv", f"s3://{name}/in/a-2.csv"]  # fmt: skip
    assert len(read(f"s3://{name}/in/**/a-*.csv").files) == 3
    assert len(read(f"s3://{name}/*/a-*.csv").files) == 2
    assert len(read(f"s3://{name}/in/a*b.csv").to_arrays()[1]) == len(read(f"s3://{name}/in/a b.csv").to_arrays()[1])
    with pytest.raises(ReadError, match="no file matches this pattern"):
        read(f"s3://{name}/in/z-*.csv")


def test_the_commands_of_the_how_to_run(bucket, run):
    client, name = bucket
    client.put_object(Bucket=name, Key="new.csv", Body=table())
    pq.write_table(csv.read_csv(io.BytesIO(table())), columns := io.BytesIO())
    client.put_object(Bucket=name, Key="data/1.parquet", Body=columns.getvalue())
    page = (Path(__file__).parents[2] / "docs" / "howto" / "storage.md").read_text(encoding="utf-8")
    lines = re.findall(r"^linsep (.*)$", page, re.M)
    assert len(lines) == 2
    for line in lines:
        code, _, err = run(*shlex.split(line.replace("s3://bucket", f"s3://{name}")))
        assert code == 0, err
    assert client.get_object(Bucket=name, Key="labels.csv")["Body"].read().count(b"\n") == table().count(b"\n")


def test_models_proofs_checkpoints_reports(bucket, run):
    client, name = bucket
    base = f"s3://{name}"
    client.put_object(Bucket=name, Key="data.csv", Body=table())
    with open("data.csv", "wb") as file:
        file.write(table())
    far = ("fit", f"{base}/data.csv", "--model", f"{base}/m.linsep", "--checkpoint", f"{base}/run.ck", "--quiet")
    assert run(*far)[0] == 0
    assert run("fit", "data.csv", "--model", "m.linsep", "--checkpoint", "run.ck", "--quiet")[0] == 0
    assert client.head_object(Bucket=name, Key="run.ck")["ContentLength"] == os.stat("run.ck").st_size
    assert (load(f"{base}/m.linsep").coef_ == load("m.linsep").coef_).all()
    assert run(*far, "--resume")[0] == 0
    assert run("predict", f"{base}/m.linsep", f"{base}/data.csv", "--out", f"{base}/out.csv")[0] == 0
    assert client.get_object(Bucket=name, Key="out.csv")["Body"].read().count(b"\n") == 201
    assert run("score", f"{base}/m.linsep", f"{base}/data.csv")[0] == 0
    assert run("separate", f"{base}/data.csv", "--proof", f"{base}/proof.json")[0] == 0
    assert run("verify", f"{base}/proof.json", f"{base}/data.csv")[0] == 0
    assert run("verify", f"{base}/proof.json", f"{base}/data.csv", "--plain")[0] == 0
    assert run("report", f"{base}/data.csv", "--out", f"{base}/report.html", "--quiet")[0] == 0
    assert client.get_object(Bucket=name, Key="report.html")["Body"].read().startswith(b"<!")
    assert run("show", f"{base}/m.linsep", f"{base}/data.csv", "--out", f"{base}/figures")[0] == 0
    assert client.get_object(Bucket=name, Key="figures/margins.png")["Body"].read().startswith(b"\x89PNG")
    X, y = read("data.csv").to_arrays()
    assert verify(f"{base}/proof.json", X, y)
    model = Perceptron().fit(X, np.where(y == "c1", 1, -1))
    to_liblinear(model, f"{base}/m.txt")
    assert (from_liblinear(f"{base}/m.txt").coef_ == model.coef_).all()
    code, _, err = run("regression", f"{base}/data.csv", "--target", "label")
    assert code == 1, err


def test_memory_and_http(run, tmp_path):
    data = table(50)
    with replacing("memory://folder/data.csv") as file:
        file.write(data)
    assert len(read("memory://folder/data.csv").to_arrays()[1]) == 50
    (tmp_path / "data.csv").write_bytes(data)

    class Ranges(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            start, _, stop = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            part = data[int(start) : int(stop or len(data)) + 1]
            self.send_response(206 if "Range" in self.headers else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {start}-{int(start) + len(part) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(part)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/data.csv"
        assert read(url).to_arrays()[1].tolist() == read(tmp_path / "data.csv").to_arrays()[1].tolist()
        code, _, err = run("fit", f"{url}?token={SECRET}", "--model", f"{url}?token={SECRET}")
        assert code == 2
        assert err.count("\n") == 1
        assert SECRET not in err
        server.shutdown()


def test_what_is_not_there(bucket, run):
    client, name = bucket
    client.put_object(Bucket=name, Key="data.csv", Body=table())
    for data, said in (
        (f"s3://{name}/none.csv", "no such file"),
        ("s3://no-such-bucket-here/data.csv", "there is no bucket no-such-bucket-here"),
        ("strange://host/data.csv", "strange"),
    ):
        code, _, err = run("fit", data)
        assert (code, err.count("\n")) == (2, 1), err
        assert f"{data}: " in err
        assert said in err
    code, _, err = run("fit", f"s3://{name}/data.csv", "--model", "s3://no-such-bucket-here/m.linsep")
    assert (code, err.count("\n")) == (2, 1)
    assert "s3://no-such-bucket-here/m.linsep: there is no bucket no-such-bucket-here" in err


def test_a_denied_key(run, monkeypatch):
    with served(INITIAL_NO_AUTH_ACTION_COUNT="2") as number:
        environment(monkeypatch, number, key="nobody")
        client = amazon(number, aws_access_key_id="nobody", aws_secret_access_key=SECRET)
        client.create_bucket(Bucket="closed")
        client.put_object(Bucket="closed", Key="data.csv", Body=table())
        client.close()
        started = time.monotonic()
        code, _, err = run("fit", "s3://closed/data.csv")
        assert time.monotonic() - started < 60  # not tried again and again
        assert (code, err.count("\n")) == (2, 1), err
        assert "s3://closed/data.csv: no permission" in err
        assert SECRET not in err


def test_credentials_in_a_url_are_never_shown(bucket, run, monkeypatch, tmp_path):
    client, name = bucket
    client.put_object(Bucket=name, Key="data.csv", Body=table())
    port = os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2]
    for variable in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    who = f"?scheme=http&endpoint_override=127.0.0.1:{port}"
    data = f"s3://key:{SECRET}@{name}/data.csv{who}"
    printed = []
    for command in (
        ("fit", data, "--model", "m.linsep", "--checkpoint", "run.ck"),
        ("fit", data, "--json"),
        ("separate", data, "--proof", "proof.json"),
        ("separate", data, "--proof", f"s3://key:{SECRET}@{name}/proof.json{who}", "--json"),
        ("report", data, "--out", "report.html"),
        ("fit", data.replace("data.csv", "none.csv")),
    ):
        code, out, err = run(*command)
        assert code == (2 if "none.csv" in command[1] else 0), err
        printed.append(out + err)
    kept = [path.read_bytes() for path in tmp_path.iterdir()]
    assert {"m.linsep", "run.ck", "proof.json", "report.html"} <= {path.name for path in tmp_path.iterdir()}
    kept += [client.get_object(Bucket=name, Key="proof.json")["Body"].read()]
    assert SECRET not in "".join(printed)
    assert all(SECRET.encode() not in content for content in kept)


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_a_connection_that_is_cut_once(bucket, port, form, monkeypatch):
    client, name = bucket
    X, y, _ = teacher(20_000, 5, margin=0.01)
    body = io.BytesIO()
    if form == "npy":
        np.save(body, np.column_stack((X, y)))
    else:
        columns = pa.table({**{f"x{j}": X[:, j] for j in range(5)}, "y": y})
        pq.write_table(columns, body) if form == "parquet" else pa.csv.write_csv(columns, body)
    client.put_object(Bucket=name, Key=f"data.{form}", Body=body.getvalue())
    wanted = read(f"s3://{name}/data.{form}").to_arrays()
    proxy = Proxy(port, 300_000, 1)
    environment(monkeypatch, proxy.own_port)
    with closing(proxy):
        found = read(f"s3://{name}/data.{form}").to_arrays()
    assert proxy.cuts == 1
    assert (found[0] == wanted[0]).all()
    assert (found[1] == wanted[1]).all()


@pytest.mark.slow
def test_a_connection_that_is_cut_for_ever(bucket, port, monkeypatch, run):
    client, name = bucket
    X, y, _ = teacher(20_000, 5, margin=0.01)
    body = io.BytesIO()
    pa.csv.write_csv(pa.table({**{f"x{j}": X[:, j] for j in range(5)}, "y": y}), body)
    client.put_object(Bucket=name, Key="data.csv", Body=body.getvalue())
    proxy = Proxy(port, 300_000, 10**9)
    environment(monkeypatch, proxy.own_port)
    with closing(proxy):
        code, _, err = run("fit", f"s3://{name}/data.csv", "--model", "m.linsep", "--quiet")
    assert (code, err.count("\n")) == (2, 1), err
    assert f"s3://{name}/data.csv: the storage does not answer" in err
    assert os.listdir() == []


@pytest.mark.slow
def test_nothing_half_written_is_left(bucket, port, monkeypatch):
    client, name = bucket
    client.put_object(Bucket=name, Key="old.bin", Body=b"old")
    writing = replacing(f"s3://{name}/old.bin")
    writing.__enter__().write(b"new" * (1 << 20))
    assert not writing.__exit__(KeyError, KeyError(), None)  # what went wrong is raised again
    assert client.get_object(Bucket=name, Key="old.bin")["Body"].read() == b"old"
    proxy = Proxy(port, 0, 10**9)
    environment(monkeypatch, proxy.own_port)
    with closing(proxy), pytest.raises(OSError, match="does not answer"), replacing(f"s3://{name}/new.bin") as file:
        file.write(os.urandom(1 << 20) * 12)
    assert [each["Key"] for each in client.list_objects_v2(Bucket=name)["Contents"]] == ["old.bin"]
    environment(monkeypatch, port)
    with replacing(f"s3://{name}/new.bin") as file:
        file.write(b"whole" * (3 << 20))
    assert client.get_object(Bucket=name, Key="new.bin")["Body"].read() == b"whole" * (3 << 20)


def test_training_from_s3_has_the_same_bits_in_bounded_memory(bucket):
    client, name = bucket
    X, y, _ = teacher(150_000, 20, margin=0.001)
    body = io.BytesIO()
    np.save(body, np.column_stack((X, y)))
    client.put_object(Bucket=name, Key="data.npy", Body=body.getvalue())
    code = """
import resource, sys, warnings
warnings.simplefilter("ignore")
from linsep import Perceptron, fit_source, read
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
small = read(sys.argv[1], block_bytes=1 << 18)
fit_source(Perceptron(max_iter=1, shuffle=False), read(sys.argv[2]), evaluate=False)
before = peak()
model = Perceptron(max_iter=1, shuffle=False)
fit_source(model, small, evaluate=False)
print(peak() - before, model.coef_.tobytes().hex())
"""
    client.put_object(Bucket=name, Key="few.npy", Body=_npy(np.column_stack((X, y))[:1000]))
    done = subprocess.run(
        [sys.executable, "-c", code, f"s3://{name}/data.npy", f"s3://{name}/few.npy"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    grown, bits = done.stdout.split()
    assert float(grown) < 15  # MB, of 25
    model = Perceptron(max_iter=1, shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert bits == model.coef_.tobytes().hex()


def _npy(array):
    body = io.BytesIO()
    np.save(body, array)
    return body.getvalue()


@pytest.mark.slow
def test_a_cluster_that_reads_only_from_s3(bucket, tmp_path):
    from distributed import Client, LocalCluster

    from linsep import cluster

    client, name = bucket
    words = ["oak", "elm", "ash", "fir"]
    rng = np.random.default_rng(0)
    keys = [f"part-{k}.csv" for k in range(4)]
    for k, key in enumerate(keys):  # each part has a word of its own
        rows = "".join(f"{a},{words[k]},{b},{'yes' if a + b > 9 else 'no'}\n" for a, b in rng.integers(0, 9, (60, 2)))
        (tmp_path / key).write_text(f"a,tree,b,label\n{rows}")
        client.put_object(Bucket=name, Key=key, Body=(tmp_path / key).read_bytes())
    url = f"s3://{name}/part-*.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
        with local, Client(local, set_as_default=False) as dask:
            model = cluster.fit(Perceptron(max_iter=20), read(url), dask, shard_bytes=500)
            here = cluster.fit(Perceptron(max_iter=20), read(tmp_path / "part-*.csv"), dask, shard_bytes=500)
        X, y = read(url).to_arrays()
    assert model.coef_.tobytes() == here.coef_.tobytes()
    assert [str(each) for each in model.feature_names_in_][2:] == [f"tree={word}" for word in words]
    assert separate(X, y).kind == "separable"


def test_a_model_goes_through_memory():
    model = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["left", "right"])
    save(model, "memory://models/m.linsep")
    assert load("memory://models/m.linsep").predict([[2.0, 0.0]]).tolist() == ["left"]
    with pytest.raises(OSError, match="no such file"):
        load("memory://models/none.linsep")
