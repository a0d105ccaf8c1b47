"""The served learner over HTTP: the contract, retries, safety, and other people's clients."""

import asyncio
import json
import os
import re
import resource
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import Nursery, command

import linsep
from linsep import AsyncClient, Client
from linsep.data.bodies import ARROW, CSV, JSON, LIBSVM, NDJSON, Refused
from linsep.models.progressive import replay
from linsep.serve.app import Access, Queue
from linsep.serve.client import ServerError
from linsep.serve.server import Address, running

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server that many tests share: what they teach it does not matter."""
    with running(tmp_path_factory.mktemp("shared")) as address:
        yield address


def test_the_smallest_exchange(tmp_path):
    with running(tmp_path / "learner") as url, httpx.Client(base_url=url, timeout=120) as http:
        learned = http.post("/v1/learn", json=[{"x": [1, 0], "y": "a"}, {"x": {"color": "red", "size": 3}, "y": "b"}])
        assert learned.status_code == 200
        assert learned.json()["examples"][0] == {"number": 1, "predicted": None, "mistake": True}
        assert [each["number"] for each in learned.json()["examples"]] == [1, 2]
        assert http.post("/v1/predict", json=[{"x": [1, 0]}]).json() == {"labels": ["a"], "number": 2}
        assert http.post("/v1/predict", json=[{"id": "o-17", "x": [1, 0]}]).json()["labels"] == ["a"]
        answer = http.post("/v1/learn", json=[{"id": "o-17", "y": "b"}]).json()
        assert answer == {"examples": [{"number": 3, "predicted": "a", "mistake": True}]}
        stats = http.get("/v1/stats").json()
        assert (stats["examples"], stats["mistakes"], stats["classes"]) == (3, 3, ["a", "b"])
        assert stats["error"] == 1.0
        bad = http.post("/v1/learn", json=[{"x": [1, 0], "y": "a"}, {"x": [1, "u"], "y": "a"}])
        assert bad.status_code == 400
        assert bad.json() == {"error": '"u" is not a number', "at": "example 2, x[1]"}
        assert http.get("/v1/stats").json()["examples"] == 3
        assert [each["number"] for each in http.get("/v1/mistakes?after=1").json()["mistakes"]] == [2, 3]
        scored = http.post("/v1/predict?scores=true&distances=true", json=[{"x": [1, 0]}]).json()
        assert scored["distances"][0] == pytest.approx(scored["scores"][0] / stats["norm"], rel=0.5)
        (tmp_path / "m.linsep").write_bytes(http.get("/v1/model").content)
        assert "linsep_examples_total 3" in http.get("/metrics").text
        assert http.post("/v1/learn", content=b"1", headers={"Content-Type": "text/plain"}).status_code == 415
        assert http.get("/nowhere").json() == {"error": "Not Found", "at": None}
        assert http.get("/v1/learn").headers["Allow"] == "POST"
        with http.stream("GET", "/v1/events") as events:
            lines = events.iter_lines()
            assert next(lines) == "id: 3"
            assert next(lines) == "event: stats"
            assert json.loads(next(lines).removeprefix("data: "))["recent"][-1]["number"] == 3
    assert linsep.load(tmp_path / "m.linsep").mistakes_ == 3
    assert replay(tmp_path / "learner", check=True).problems == []


def test_the_clients(url, tmp_path):
    with Client(url) as client:
        first = client.learn({"u": 1, "v": "red"}, "a")
        assert len(first) == 1
        assert client.learn({"u": 1, "v": "red"}, "a", key="once") == client.learn(
            {"u": 1, "v": "red"}, "a", key="once"
        )
        client.learn(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array(["a", "b"]))
        client.learn([[1.0, 0.0], [0.0, 1.0]], ["a", "b"], ids=["one", "two"])
        assert client.predict({"u": 1}, ids="later") in client.stats()["classes"]
        assert len(client.learn(None, "b", ids="later")) == 1
        assert len(client.predict([[1.0], [2.0]], scores=True)) == 2
        (tmp_path / "m.linsep").write_bytes(client.model())
        with pytest.raises(ServerError, match="no row waits") as refused:
            client.learn(None, "b", ids="never")
        assert (refused.value.status, refused.value.at) == (400, "example 1, id")
        for wrong in ((None, "a", None), ([[1]], ["a", "b"], None), ([[1]], ["a"], ["i", "j"])):
            with pytest.raises(ValueError, match=r"learn needs|there are"):
                client.learn(wrong[0], wrong[1], ids=wrong[2])
    assert linsep.load(tmp_path / "m.linsep").n_features_in_ >= 3

    async def asks():
        async with AsyncClient(url) as client:
            learned = await asyncio.gather(*(client.learn([i, 1.0], "a") for i in range(20)))
            return [each[0]["number"] for each in learned], await client.predict([1, 1])

    numbers, label = asyncio.run(asks())
    assert len(set(numbers)) == 20
    assert label in ("a", "b")
    with Client("http://127.0.0.1:1", retries=1) as nobody, pytest.raises(httpx.ConnectError):
        nobody.stats()


def test_tokens_hosts_and_limits(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("learn 0123456789abcdef\n# a remark\npredict fedcba9876543210\n")
    os.chmod(tokens, 0o644)
    with pytest.raises(ValueError, match="other users"):
        Address(token_file=str(tokens)).access(1, 1)
    os.chmod(tokens, 0o600)
    for unsafe in ({"host": "0.0.0.0"}, {"host": "0.0.0.0", "token_file": str(tokens)}):
        with pytest.raises(ValueError, match="other machines"):
            Address(**unsafe).access(1, 1)
    assert Address("0.0.0.0", token_file=str(tokens), behind_proxy=True).access(1, 1).hosts is None
    example, teacher = {"x": [1], "y": 1}, {"Authorization": "Bearer 0123456789abcdef"}
    with running(tmp_path / "learner", address=Address(port=0, token_file=str(tokens))) as url:
        reader = {"Authorization": "Bearer fedcba9876543210"}
        assert httpx.post(f"{url}/v1/learn", json=example).status_code == 401
        assert httpx.post(f"{url}/v1/learn", json=example, headers=reader).status_code == 403
        assert httpx.post(f"{url}/v1/learn", json=example, headers=teacher).status_code == 200
        assert httpx.post(f"{url}/v1/predict", json={"x": [1]}, headers=reader).status_code == 200
        assert httpx.get(f"{url}/v1/stats").status_code == 401
        assert httpx.get(f"{url}/v2/health/live").status_code == 200
        with Client(url, token="0123456789abcdef") as client:
            assert client.stats()["examples"] == 1
    with running(tmp_path / "open", seconds=0.5, patience=1.0) as url:
        assert httpx.get(f"{url}/v1/stats", headers={"Host": "evil.example"}).status_code == 421
        assert httpx.get(f"{url}/v1/stats", headers={"Host": "localhost:1"}).status_code == 200
        host, port = url.removeprefix("http://").split(":")
        head = b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for sent, answer in (  # a body that does not come, one that is too long, a header that does not end
            (head + b"Content-Length: 10\r\n\r\n[", b" 408 "),
            (head + b"Content-Length: 100000000000\r\n\r\n[", b" 413 "),
            (b"GET / HTTP/1.1\r\nHost", b""),
        ):
            with socket.create_connection((host, int(port)), timeout=10) as slow:
                slow.sendall(sent)
                assert answer in slow.recv(1 << 16).split(b"\r\n")[0]
    with running(tmp_path / "busy", requests=0) as url:
        busy = httpx.get(f"{url}/v1/stats")
        assert (busy.status_code, busy.headers["Retry-After"]) == (429, "1")
        assert httpx.get(f"{url}/v2/health/live").status_code == 200
    assert not Access(learn=("a",)).allows("", teaching=True)


def test_a_full_queue_is_told():
    go, done = threading.Event(), []

    def work(items, more):
        done.append((items, more))
        assert go.wait(20)
        return [RuntimeError("no") if item == "b" else item.upper() for item in items]

    async def ask():
        queue = Queue(work, most=3)
        first = asyncio.create_task(queue.put("a", 2))
        while not done:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(queue.put("b", 1))
        await asyncio.sleep(0)
        with pytest.raises(Refused) as full:
            await queue.put("c", 1)
        assert full.value.status == 429
        go.set()
        await queue.close()
        with pytest.raises(Refused) as closed:
            await queue.put("d", 1)
        assert closed.value.status == 503
        return await asyncio.gather(first, second, return_exceptions=True), queue

    (first, second), queue = asyncio.run(ask())
    assert (first, str(second)) == ("A", "no")
    assert (queue.waiting, queue.refused, queue.groups) == (0, 1, 2)


def test_predictions_while_learning_are_those_of_a_prefix_of_the_log(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.integers(-9, 10, size=(600, 3)).astype(float)
    y = np.where(X @ [1, -2, 3] > 0, "p", "n")
    probe = generator.integers(-9, 10, size=(40, 3)).astype(float)
    found = []
    with running(tmp_path / "learner") as url:
        stopped = threading.Event()

        def ask():
            with httpx.Client(base_url=url, timeout=120) as http:
                while not stopped.is_set():
                    found.append(http.post("/v1/predict", json=[{"x": x} for x in probe.tolist()]).json())

        asking = threading.Thread(target=ask)
        asking.start()
        with Client(url) as client:
            for i in range(0, 600, 3):
                client.learn(X[i : i + 3], y[i : i + 3])
        stopped.set()
        asking.join()
    model, labels = linsep.Perceptron(shuffle=False), {0: [None] * 40}
    for n, (x, label) in enumerate(zip(X, y, strict=True), 1):
        labels[n] = model.partial_fit(x[None], [label]).predict(probe).tolist()
    assert len({each["number"] for each in found}) > 5
    for each in found:
        assert each["labels"] == labels[each["number"]]


# ---------------------------------------------------------------------------------------------------------------
# Processes


def kill_under_load(folder, kills, clients=3):
    """Kill servers while clients teach; return what was acknowledged, by client."""
    nursery = Nursery(folder)
    url, stopped = nursery.start(), threading.Event()
    acknowledged = [[] for _ in range(clients)]

    def teach(number):
        generator = np.random.default_rng(number)
        with Client(url, retries=1000, longest_wait=0.2) as client:
            while not stopped.is_set():
                start = len(acknowledged[number])
                x = [
                    [number, start + i, *generator.integers(-9, 10, 3).tolist()]
                    for i in range(generator.integers(1, 4))
                ]
                y = ["p" if row[2] > row[3] else "n" for row in x]
                for row, label, answer in zip(x, y, client.learn(x, y), strict=True):
                    acknowledged[number].append((answer["number"], row, label))

    threads = [threading.Thread(target=teach, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    generator = np.random.default_rng(7)
    for _ in range(kills):
        time.sleep(generator.uniform(0.02, 0.25))
        assert nursery.end(signal.SIGKILL) == -signal.SIGKILL
        nursery.start()
    assert nursery.end(signal.SIGTERM) == 0  # what was accepted is finished
    nursery.start()
    stopped.set()
    for thread in threads:
        thread.join()
    assert nursery.end(signal.SIGTERM) == 0
    nursery.close()
    return acknowledged


@pytest.mark.parametrize("kills", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_kill_9_exactly_once(kills, tmp_path):
    acknowledged = kill_under_load(tmp_path / "learner", kills)
    X, y = linsep.read(tmp_path / "learner").to_arrays()
    for mine in acknowledged:
        numbers = [number for number, _, _ in mine]
        assert numbers == sorted(set(numbers))
        for number, row, label in mine:
            assert (X[number - 1].tolist(), y[number - 1]) == (row, label)
    assert sum(map(len, acknowledged)) == len(y)  # everybody heard of everything in the end
    assert len(y) > kills
    assert len({tuple(row) for row in X[:, :2].tolist()}) == len(y)
    found = replay(tmp_path / "learner", check=True)
    assert (found.problems, found.same, found.compared) == ([], True, len(y))
    offline = linsep.Perceptron(shuffle=False, max_iter=1, prove=False)
    with pytest.warns(match="separate|pass"):
        offline.fit(X, y)
    served = found.learner.saved(found.columns)
    assert np.array_equal(served.coef_, offline.coef_)
    assert np.array_equal(served.intercept_, offline.intercept_)


def test_the_command_stops_well_survives_a_full_disk_and_is_alone(tmp_path):
    process, url = command(tmp_path / "learner", "--keep", "average")
    try:
        with Client(url, retries=0) as client:
            client.learn([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
            size = max(each.stat().st_size for each in (tmp_path / "learner").iterdir())
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            full = 0
            for _ in range(50):
                try:
                    client.learn(np.ones((200, 2)), ["a"] * 200)
                except ServerError as error:
                    full += error.status == 503
            assert full > 0
            assert client.predict([[1.0, 2.0]]) == ["a"]
            learned = client.stats()["examples"]
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert client.learn([1.0, 2.0], "a")[0]["number"] == learned + 1
            other = tmp_path / "learner"
            with pytest.raises(ValueError, match="another linsep serve"):
                linsep.serve.service.Service(other)
    finally:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert [json.loads(line)["event"] for line in told.splitlines()] == ["started", "stopped"]
    assert replay(other, check=True).problems == []


@pytest.mark.slow
def test_a_thousand_slow_connections_do_not_keep_others_waiting(tmp_path):
    process, url = command(tmp_path / "learner")
    host, port = url.removeprefix("http://").split(":")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    request = b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    slow = [socket.create_connection((host, int(port))) for _ in range(1000)]
    gone = 0
    try:
        with Client(url, retries=0) as client:
            for second in range(15):
                for each in slow:
                    try:
                        each.send(request[second : second + 1])
                    except OSError:
                        gone += 1
                began = time.monotonic()
                client.learn([1.0, float(second)], "a")
                assert time.monotonic() - began < 1
                time.sleep(1 - min(1.0, time.monotonic() - began))
    finally:
        for each in slow:
            each.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert gone > 900  # they were cut off


# ---------------------------------------------------------------------------------------------------------------
# Bodies of any kind, and the description


@pytest.mark.parametrize("kind", [JSON, NDJSON, CSV, LIBSVM, ARROW])
def test_no_body_makes_the_server_fail(kind, url):
    good = {
        JSON: b'[{"x": {"u": 1, "w": "red"}, "y": "a"}, {"x": [1, 2], "y": 3}]',
        NDJSON: b'{"x": [1], "y": "a"}\n{"x": [2], "y": "b"}\n',
        CSV: b"u,w,y\n1,red,a\n2,blue,b\n",
        LIBSVM: b"1 1:2 3:4\n-1 2:1\n",
        ARROW: b"",
    }[kind]
    if kind == ARROW:
        import pyarrow as pa

        table, sink = pa.table({"u": [1.0, 2.0], "w": ["red", None], "y": ["a", "b"]}), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        good = sink.getvalue().to_pybytes()

    places = st.integers(0, len(good))
    with httpx.Client(base_url=url, timeout=120) as http:

        @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.lists(st.tuples(places, st.binary(max_size=6)), max_size=4), st.binary(max_size=40))
        def fuzz(changes, other):
            body = bytearray(good)
            for place, patch in changes:
                body[place : place + len(patch)] = patch
            for content in (bytes(body), other):
                for path in ("/v1/learn", "/v1/predict"):
                    answer = http.post(path, content=content, headers={"Content-Type": kind})
                    assert answer.status_code in (200, 400, 413)
                    assert answer.status_code == 200 or set(answer.json()) == {"error", "at"}

        before = http.get("/v1/stats").json()["examples"]
        fuzz()
        assert http.get("/v1/stats").json()["examples"] >= before


def test_requests_and_answers_are_as_the_description_says(url):
    import schemathesis

    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    config = settings(max_examples=15, suppress_health_check=list(HealthCheck))
    from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

    wanted = [schemathesis.checks.not_a_server_error, response_schema_conformance, status_code_conformance]
    tested = []
    for operation in schema.get_all_operations():
        api = operation.ok()
        if api.path == "/v1/events":  # it does not end
            continue

        @config
        @given(case=api.as_strategy())
        def conforms(case):
            answer = case.call()
            case.validate_response(answer, checks=wanted)

        conforms()
        tested.append(api.path)
    assert len(tested) > 10


def test_arrays_mean_the_columns_of_the_model(tmp_path):
    X, y = np.array([[5.1, 3.5], [4.9, 3.0], [7.0, 3.2], [6.4, 2.9]]), ["a", "a", "b", "b"]
    pandas = pytest.importorskip("pandas")
    model = linsep.Perceptron().fit(pandas.DataFrame(X, columns=["length", "width"]), y)
    with running(tmp_path / "learner", model) as url, Client(url) as client, httpx.Client(base_url=url) as http:
        assert client.predict(X) == y
        tensor = {"name": "input", "datatype": "FP64", "shape": [4, 2], "data": X.tolist()}
        answer = http.post("/v2/models/linsep/infer", json={"inputs": [tensor]}).json()
        assert next(each["data"] for each in answer["outputs"] if each["name"] == "label") == y
        tensor |= {"shape": [2, 4]}
        for path, sent in (
            ("/v1/predict", {"x": [5.1]}),
            ("/v1/learn", {"x": [5.1, 3.5, 1.4], "y": "a"}),
            ("/v2/models/linsep/infer", {"inputs": [tensor]}),
        ):
            answer = http.post(path, json=sent)
            assert answer.status_code == 400
            assert "the model has 2 columns" in answer.json()["error"]


def test_a_client_of_triton(url):
    triton = pytest.importorskip("tritonclient.http")
    with Client(url) as client:
        client.learn({"u": 1, "w": "red"}, "a")
        client.learn([1.0, 2.0], "b")
        wanted = client.predict([[1.0, 2.0], [-1.0, 0.5]])
        named = client.predict([{"u": 1, "w": "red"}, {"u": -3, "w": "blue"}])
    client = triton.InferenceServerClient(url.removeprefix("http://"))
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("linsep")
    assert client.get_server_metadata()["name"] == "linsep"
    assert {each["name"] for each in client.get_model_metadata("linsep")["outputs"]} == {"label", "score"}
    for kind, dtype in (("FP32", np.float32), ("FP64", np.float64)):
        for binary in (True, False):
            rows = triton.InferInput("input", [2, 2], kind)
            rows.set_data_from_numpy(np.array([[1.0, 2.0], [-1.0, 0.5]], dtype), binary_data=binary)
            output = triton.InferRequestedOutput("label", binary_data=binary)
            found = client.infer("linsep", [rows], outputs=[output], request_id="7")
            labels = [each.decode() if isinstance(each, bytes) else str(each) for each in found.as_numpy("label")]
            assert labels == list(map(str, wanted))
    u, w = triton.InferInput("u", [2, 1], "INT64"), triton.InferInput("w", [2, 1], "BYTES")
    u.set_data_from_numpy(np.array([[1], [-3]]))
    w.set_data_from_numpy(np.array([[b"red"], [b"blue"]], object))
    found = client.infer("linsep", [u, w])
    assert [each.decode() for each in found.as_numpy("label")] == list(map(str, named))
    assert found.as_numpy("score").shape[0] == 2
    with pytest.raises(triton.InferenceServerException, match="no model"):
        client.infer("other", [u, w])
    client.close()


def test_the_curl_lines_of_the_how_to_run(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "howto" / "serve.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in re.split(r"(?<!\\)\n", block)]
    curls = [line for line in lines if line.startswith("curl ")]
    assert len(curls) > 6
    import subprocess

    with running(tmp_path / "learner", name="orders") as url:
        for line in curls:
            line = line.replace("http://127.0.0.1:8080", url)
            done = subprocess.run(
                ["sh", "-ec", f"{line} --fail-with-body --silent --max-time 3"], capture_output=True, cwd=tmp_path
            )
            ended = (0, 28) if "events" in line else (0,)
            assert done.returncode in ended, (line, done.stdout, done.stderr)
    assert (tmp_path / "orders.linsep").exists()
