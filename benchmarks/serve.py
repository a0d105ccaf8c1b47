"""The served learner: durable examples beside ``linsep fit`` and an empty route, predictions under load, restart."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import ENVIRONMENT, Row, at_least, at_most, sized

BATCHES = sized(300, 4)
FEATURES, STORED = 50_000, 38
CLIENTS = 32
REQUESTS = sized(24_000, 400)
TURNS = sized(4, 2)
LOGGED = sized(1_000_000, 20_000)

# with the settings of the served learner
EMPTY = """
import asyncio, socket, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def empty(request):
    await request.body()
    return Response(b'{"examples": []}', media_type="application/json")
app = Starlette(routes=[Route("/v1/learn", empty, methods=["POST"])])
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(2048)
print(f"empty route: http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
config = uvicorn.Config(
    app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
    timeout_keep_alive=30, proxy_headers=False,
)
asyncio.run(uvicorn.Server(config).serve([listening]))
"""

# one process per load, so that clients do not take the server's time; prints seconds, and of every request its own
LOAD = """
import asyncio, json, sys, time
address, clients, requests, seconds = json.loads(sys.argv[1])
bodies = [open(path, "rb").read() for path in sys.argv[2:]]
path, kind = bodies.pop(0).decode().split()
host, port = address.removeprefix("http://").split(":")
head = f"POST {path} HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: {kind}\\r\\nContent-Length: "
sent = [f"{head}{len(body)}\\r\\n\\r\\n".encode() + body for body in bodies]
left, took, begun = iter(range(requests)), [], time.perf_counter()
async def one():
    reader, writer = await asyncio.open_connection(host, int(port))
    for number in left:
        started = time.perf_counter()
        if seconds and started - begun > seconds:
            break
        writer.write(sent[number % len(sent)])
        header = await reader.readuntil(b"\\r\\n\\r\\n")
        assert b" 200 " in header.split(b"\\r\\n")[0], header
        length = int(header.lower().partition(b"content-length: ")[2].partition(b"\\r\\n")[0])
        await reader.readexactly(length)
        took.append(time.perf_counter() - started)
    writer.close()
async def all():
    await asyncio.gather(*(one() for _ in range(clients)))
asyncio.run(all())
print(json.dumps([time.perf_counter() - begun, sorted(took)]))
"""


class Load(NamedTuple):
    """What a load took."""

    seconds: float
    requests: list[float]  # seconds of each, sorted

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.requests) / self.seconds

    def quantile(self, share: float) -> float:
        """Return the time within which this share of the requests were answered."""
        return self.requests[min(len(self.requests) - 1, int(share * len(self.requests)))]


@contextmanager
def server(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server that prints its address; end it with SIGTERM."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stdout is not None
    try:
        yield process, next(word for word in process.stdout.readline().split() if word.startswith("http"))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def served(folder: Path, *options: str) -> tuple[str, ...]:
    """Return the command that serves a folder."""
    return ("-m", "linsep", "serve", "--data", str(folder), "--port", "0", *options)


def start_load(url: str, folder: Path, path: str, kind: str, bodies: list[bytes], *how: float) -> subprocess.Popen[str]:
    """Begin to send requests; ``how`` is the number of clients, that of requests, and seconds after which to stop."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{number}" for number in range(len(bodies) + 1)]
    for file, content in zip(files, [f"{path} {kind}".encode(), *bodies], strict=True):
        file.write_bytes(content)
    command = [sys.executable, "-c", LOAD, json.dumps([url, *how]), *map(str, files)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def ended(load: subprocess.Popen[str]) -> Load:
    """Return what a load took."""
    text, _ = load.communicate()
    return Load(*json.loads(text))


def sparse_batches(count: int) -> list[bytes]:
    """Return batches of 1,000 LIBSVM examples with 38 stored numbers each."""
    rng = np.random.default_rng(0)
    w, found = rng.standard_normal(FEATURES), []
    for _ in range(count):
        lines = []
        for _ in range(1000):
            columns = np.sort(rng.choice(FEATURES, STORED, replace=False))
            x = rng.standard_normal(STORED).round(3)
            cells = " ".join(f"{j + 1}:{value}" for j, value in zip(columns.tolist(), x.tolist(), strict=True))
            lines.append(f"{1 if w[columns] @ x > 0 else -1} {cells}\n")
        found.append("".join(lines).encode())
    return found


def run() -> Iterator[Row]:
    """Yield the four ratios, each measured in one go."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        different = sparse_batches(min(20, BATCHES))
        yield batches(folder, [different[k % len(different)] for k in range(BATCHES)])
        yield from singles(folder)
        yield under_load(folder, different)
        yield from restart(folder)


def batches(folder: Path, texts: list[bytes]) -> Row:
    """Return durable batches beside the command that learns the same text from a file."""
    (folder / "all.svm").write_bytes(b"".join(texts))
    how = ("--no-shuffle", "--max-iter", "1", "--keep", "last", "--scale", "none", "--quiet")
    how += ("--model", str(folder / "m.linsep"))
    command = [sys.executable, "-m", "linsep", "fit", str(folder / "all.svm"), *how]
    subprocess.run([*command[:3], "fit", *command[4:]], check=True, env=ENVIRONMENT)  # compiles
    started = time.perf_counter()
    subprocess.run(command, check=True, env=ENVIRONMENT)
    fit = time.perf_counter() - started
    with server(*served(folder / "batches")) as (_, url):
        ended(start_load(url, folder / "w", "/v1/learn", "text/x-libsvm", texts[:2], 1, 4, 0))
        load = ended(start_load(url, folder / "b", "/v1/learn", "text/x-libsvm", texts[:20], 3, len(texts), 0))
    job = f"{len(texts)} batches of 1,000 LIBSVM examples ({STORED} non-zeros), durable"
    return at_least(job, load.seconds, "linsep fit on the same text", fit, 0.5)


def singles(folder: Path) -> Iterator[Row]:
    """Yield single examples beside an empty route, and how long the slowest wait."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 10)).round(3)
    bodies = [json.dumps({"x": x, "y": "a" if x[0] > 0 else "b"}).encode() for x in X.tolist()]
    loads: list[list[Load]] = [[], []]
    with server("-c", EMPTY) as (_, empty), server(*served(folder / "singles")) as (_, ours):
        for turn in range(TURNS + 1):  # in turns: what disturbs one disturbs the other
            for url, found in zip((empty, ours), loads, strict=True):
                some = REQUESTS // TURNS if turn else CLIENTS * 4  # the first turn warms up
                load = start_load(url, folder / "s", "/v1/learn", "application/json", bodies, CLIENTS, some, 0)
                found.append(ended(load))
    empty_best, ours_best = (min(found[1:], key=lambda load: load.seconds) for found in loads)
    job = f"{REQUESTS // TURNS} single examples, {CLIENTS} clients, durable"
    yield at_least(job, ours_best.seconds, "empty route that reads the body", empty_best.seconds, 0.7)
    slow, median = (ours_best.quantile(share) for share in (0.99, 0.5))
    yield at_most("their slowest hundredth (p99)", slow, "the median", median, 3.0)


def under_load(folder: Path, texts: list[bytes]) -> Row:
    """Return predictions while batches are learned beside predictions alone, in requests a second."""
    row = json.dumps({"x": {"u": 1.0}}).encode()
    seconds, turns = sized(3, 1), sized(4, 1)
    alone, beside = list[float](), list[float]()

    def predicted() -> float:
        return ended(start_load(url, folder / "p", "/v1/predict", "application/json", [row], 4, 10**9, seconds)).rate

    with server(*served(folder / "predict")) as (_, url):
        ended(start_load(url, folder / "w", "/v1/learn", "text/x-libsvm", texts[:1], 1, 2, 0))
        for _ in range(turns):
            alone.append(predicted())
            learning = start_load(url, folder / "l", "/v1/learn", "text/x-libsvm", texts, 2, 10**9, seconds + 2)
            time.sleep(1)
            beside.append(predicted())
            ended(learning)
    return at_least("one prediction while batches are learned", 1 / max(beside), "alone", 1 / max(alone), 0.7)


def restart(folder: Path) -> Iterator[Row]:
    """Yield how long a start takes with many logged examples, and how much memory."""
    rng, place = np.random.default_rng(2), folder / "restart"
    X = rng.standard_normal((1000, 20)).round(3)
    lines = [f"{1 if x[0] > 0 else -1} {' '.join(f'{j + 1}:{v}' for j, v in enumerate(x.tolist()))}\n" for x in X]
    body = "".join(lines).encode()
    memory = []
    for requests in (10, LOGGED // 1000):
        with server(*served(place)) as (process, url):
            ended(start_load(url, folder / "r", "/v1/learn", "text/x-libsvm", [body], 4, requests, 0))
            memory.append(resident(process.pid))
    started = time.perf_counter()
    with server(*served(place)) as (process, _):
        ready = time.perf_counter() - started
        memory.append(resident(process.pid))
    yield at_most(f"start with {LOGGED} logged examples, to the first request", ready, "two seconds", 2.0, 1.0)
    yield at_most("memory after them, MB", max(memory[1:]), "after 10,000 examples", memory[0], 1.3)


def resident(pid: int) -> float:
    """Return the memory of a process that is its own, in megabytes."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        own = sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
    return own / 1024
