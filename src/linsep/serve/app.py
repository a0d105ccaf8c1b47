"""The HTTP interface of the served learner; ``openapi.json`` describes it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import tempfile
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from importlib import resources
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from linsep import __version__
from linsep.data.bodies import Limits, ParsedBody, Refused, parse_body
from linsep.data.example_log import encode
from linsep.data.parallel import step_back
from linsep.errors import DataError
from linsep.serve.inference import VERSION, Answer, Inference, constant
from linsep.serve.service import Request as Learning
from linsep.serve.service import Service

Handler = Callable[[Request], Awaitable[Response]]

_SMALL = 1 << 15  # bytes of a body that is parsed at once, rather than in another thread
_PACE, _HEARTBEAT = 0.5, 15.0  # seconds between two events, and between two signs of life
_EVENTS = 3600.0  # seconds after which a listener has to ask again, as browsers do by themselves
_BULK = 200  # examples of a group that is learned where it steps back before predictions
_GROUP, _LINGER = 50_000, 0.003  # examples of one commit, and seconds to wait for more of them
_LISTENERS = 100  # that may wait for events
_OPEN = ("/", "/openapi.json", "/v2/health/live", "/v2/health/ready")  # no token is asked for
_POLICY = b"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
_HEADERS = [
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"), (b"cache-control", b"no-store"),
    (b"content-security-policy", _POLICY + b"img-src data:; base-uri 'none'; form-action 'none'"),
]  # fmt: skip
_BRIEF = _HEADERS[:1]  # of the answers to programs, whose headers cost time


class Access(NamedTuple):
    """Who may ask, how much, and for how long."""

    learn: tuple[str, ...] = ()  # tokens that may do everything; none are asked for if there are none
    predict: tuple[str, ...] = ()  # tokens that may not teach
    hosts: frozenset[str] | None = None  # names of this server, None for any
    requests: int = 1000  # at the same time
    seconds: float = 30.0  # for one request

    def allows(self, token: str, teaching: bool) -> bool:
        """Say whether a token allows a request; all comparisons are made, each in constant time."""
        known = self.learn if teaching else (*self.learn, *self.predict)
        sent = token.encode("utf-8", "surrogateescape")
        return sum(secrets.compare_digest(sent, each.encode()) for each in known) > 0

    def check(self, scope: Scope, path: str, active: int) -> None:
        """Refuse a request that is not let in."""
        if self.hosts is not None:  # against DNS rebinding
            host = _header(scope, b"host", "")
            if host not in self.hosts and host.rpartition(":")[0] not in self.hosts:
                raise Refused("the host name of this request is not that of this server", "Host", 421)
        if path in _OPEN:
            return
        if active > self.requests:
            raise Refused("too many requests at the same time", status=429)
        if self.learn or self.predict:
            kind, _, token = _header(scope, b"authorization", "").partition(" ")
            known = kind.lower() == "bearer"
            allowed = [known and self.allows(token.strip(), teaching) for teaching in (True, False)]
            if not allowed[path != "/v1/learn"]:
                what = "this token may not teach" if allowed[1] else "a token is needed: Authorization: Bearer TOKEN"
                raise Refused(what, "Authorization", 403 if allowed[1] else 401)


def refusal(error: Exception) -> Response:
    """Return the answer to a request that is not done."""
    if isinstance(error, TimeoutError):
        error = Refused("the request took too long: a retry with its key is safe", status=408)
    elif isinstance(error, ClientDisconnect):
        error = Refused("the client has gone", status=499)
    elif not isinstance(error, DataError):
        traceback.print_exception(error)
        error = Refused("a bug in linsep", status=500)
    status = error.status if isinstance(error, Refused) else 400
    headers = {"Retry-After": "1" if status == 429 else "5"} if status in (429, 503) else {}
    headers |= {"Connection": "close"} if status in (408, 413) else {}
    headers |= {"Allow": error.where} if status == 405 else {}
    return Answer({"error": error.what, "at": error.where or None}, status, headers)


class Queue:
    """Collects what waits, and has it done together by one call in another thread at a time."""

    def __init__(self, work: Callable[..., list[Any]], most: int, bulk: ThreadPoolExecutor | None = None) -> None:
        self.work, self.most, self.bulk = work, most, bulk
        self.thread = ThreadPoolExecutor(1, "queue")  # always the same: its core has at hand what it needs
        self.waiting = self.refused = self.groups = 0
        self.lock = asyncio.Lock()  # held while the work is done
        self.closed = False
        self._expected = 1  # requests at a time
        self._items: deque[tuple[Any, int, asyncio.Future[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def put(self, item: Any, size: int) -> Any:
        """Return what comes of an item; refuse it if too many wait."""
        if self.closed:
            raise Refused("the server is shutting down", status=503)
        if self.waiting and self.waiting + size > self.most:
            self.refused += 1
            raise Refused("too many examples wait to be learned", status=429)
        future = asyncio.get_running_loop().create_future()
        self._items.append((item, size, future))
        self.waiting += size
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._items:
            until = loop.time() + _LINGER
            while len(self._items) < self._expected and loop.time() < until:  # others are about to come: one commit
                await asyncio.sleep(0)
            some = [self._items.popleft()]
            taken = some[0][1]
            while self._items and taken + self._items[0][1] <= _GROUP:
                some.append(self._items.popleft())
                taken += some[-1][1]
            pool, items = self.bulk if taken > _BULK else self.thread, [each[0] for each in some]
            async with self.lock:
                try:
                    results = await loop.run_in_executor(pool, self.work, items, bool(self._items))
                except Exception as error:
                    traceback.print_exception(error)
                    results = [error] * len(some)
            self.groups += 1
            self._expected = len(some) + len(self._items)
            for (_, size, future), result in zip(some, results, strict=True):
                self.waiting -= size
                if not future.done():
                    (future.set_exception if isinstance(result, Exception) else future.set_result)(result)
        self._task = None

    async def close(self) -> None:
        """Take no more, and finish what there is."""
        self.closed = True
        if self._task is not None:
            await self._task
        self.thread.shutdown()


class Application:
    """The routes, and what they share; checks every request before, and cuts off those that take too long."""

    def __init__(
        self, service: Service, name: str = "linsep", access: Access | None = None, waiting: int = 200_000
    ) -> None:
        self.service, self.name, self.access = service, name, access or Access()
        self.listeners = self.active = self.learned = self.predicted = 0
        self.started, self.closing = time.time(), False
        self.bulk = ThreadPoolExecutor(2, "bulk", initializer=step_back)
        self.learning, self.keeping = Queue(self._learn, waiting, self.bulk), Queue(service.keep, 100_000, self.bulk)
        self.inference = infer = Inference(service, name)
        self.get: dict[str, Handler] = {
            "/v1/stats": self.stats, "/v1/mistakes": self.mistakes, "/v1/model": self.model, "/v1/events": self.events,
            "/metrics": self.metrics, "/openapi.json": self.openapi, "/": self.page,
            "/v2": constant({"name": "linsep", "version": __version__, "extensions": ["binary_tensor_data"]}),
            "/v2/health/live": constant({"live": True}), "/v2/health/ready": constant({"ready": True}),
        }  # fmt: skip
        self.post: dict[str, Handler] = {"/v1/learn": self.learn, "/v1/predict": self.predict}
        for model in (f"/v2/models/{name}", f"/v2/models/{name}/versions/{VERSION}"):
            self.get |= {model: infer.about, f"{model}/ready": constant({"name": name, "ready": True})}
            self.post[f"{model}/infer"] = self.infer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path, seconds, response = scope["path"], self.access.seconds, None
        self.active += 1
        try:
            self.access.check(scope, path, self.active)
            async with asyncio.timeout(_EVENTS if path == "/v1/events" else seconds):
                response = await self._handler(scope["method"], path)(Request(scope, receive))
                response.raw_headers += _BRIEF if scope["method"] == "POST" else _HEADERS
                await response(scope, receive, send)
        except Exception as error:
            if response is None:
                refused = refusal(error)
                refused.raw_headers += _HEADERS
                await refused(scope, receive, send)
            elif not isinstance(error, TimeoutError):  # the client did not take the answer
                raise
        finally:
            self.active -= 1

    def _handler(self, method: str, path: str) -> Handler:
        own, others = (self.post, self.get) if method == "POST" else (self.get, self.post)
        if path in own and method in ("GET", "HEAD", "POST"):
            return own[path]
        if path in own or path in others:
            raise Refused("this method is not for this path", "POST" if path in self.post else "GET", 405)
        what = f"no model has this name: there is {self.name!r}" if path.startswith("/v2/models/") else "Not Found"
        raise Refused(what, status=404)

    def _learn(self, requests: list[Learning], more: bool) -> list[Any]:
        """Learn from some requests, and take a snapshot when it is time to."""
        answers = self.service.learn(requests, more)
        if self.service.due:
            self.service.snapshot()
        return answers

    async def close(self) -> None:
        """Finish what was accepted."""
        self.closing = True
        await self.learning.close()
        await self.keeping.close()
        self.bulk.shutdown()

    async def read(self, request: Request, labeled: bool) -> tuple[ParsedBody, bytes]:
        """Return the examples of a request, and its body."""
        body = await read_body(request, self.service.limits)
        kind, *rest = _header(request.scope, b"content-type", "application/json").split(";")
        options = {name.strip(): value.strip(' "') for name, _, value in (each.partition("=") for each in rest)}
        if request.scope["query_string"] and "target" in request.query_params:
            options["target"] = request.query_params["target"]
        arguments = (body, kind.strip().lower(), options, self.service.limits, self.service.columns)
        if len(body) <= _SMALL:
            return parse_body(*arguments, labeled=labeled), body
        parsed = partial(parse_body, *arguments, labeled=labeled)
        return await asyncio.get_running_loop().run_in_executor(self.bulk, parsed), body

    async def learn(self, request: Request) -> Response:
        """Learn from examples; answer when they are durable."""
        parsed, body = await self.read(request, labeled=True)
        key, digest = _header(request.scope, b"idempotency-key", None), b""
        if key is not None:
            if not 0 < len(key) <= 255:
                raise Refused("a key has 1 to 255 characters", "Idempotency-Key")
            digest = hashlib.sha256(body).digest()[:16]
        self.learned += 1
        answer = await self.learning.put(Learning(parsed, key, digest), len(parsed))
        return Answer(answer)

    async def predict(self, request: Request) -> Response:
        """Predict labels with the newest model in memory; rows with ids are kept."""
        parsed, body = await self.read(request, labeled=False)
        query: Any = request.query_params if request.scope["query_string"] else {}
        wanted = [name for name in ("scores", "distances") if query.get(name, "false").lower() in ("true", "1", "")]
        self.predicted += 1
        if len(body) <= _SMALL:
            answer = self._predicted(parsed, wanted)
        else:
            answer = await asyncio.to_thread(self._predicted, parsed, wanted)
        if parsed.ids is not None:
            named = zip(parsed.ids, parsed.listed(), answer["labels"], strict=True)
            rows = [(name, x, label) for name, x, label in named if name is not None]
            await self.keeping.put(rows, len(rows))
        return Answer(answer)

    def _predicted(self, parsed: ParsedBody, wanted: list[str]) -> dict[str, Any]:
        predictor = self.service.predictor
        rows = encode(parsed.x, self.service.columns)
        S = predictor.scores(rows)
        answer: dict[str, Any] = {"labels": predictor.predict(S), "number": predictor.number}
        if "scores" in wanted:
            answer["scores"] = S.tolist()
            answer["classes"] = [] if predictor.classes is None else predictor.classes.tolist()
        if "distances" in wanted:
            known = predictor.classes is not None and not predictor.plane.zeros
            answer["distances"] = _finite(predictor.distances(rows).tolist()) if known else None
        return answer

    async def infer(self, request: Request) -> Response:
        """Predict by the open inference protocol."""
        body = await read_body(request, self.service.limits)
        self.predicted += 1
        if len(body) <= _SMALL:
            return self.inference.infer(request, body)
        return await asyncio.to_thread(self.inference.infer, request, body)

    async def stats(self, _: Request) -> Response:
        """Say where the learner stands."""
        return Answer(await self._stats())

    async def _stats(self) -> dict[str, Any]:
        async with self.learning.lock:
            stats = await asyncio.to_thread(self.service.stats)
        return stats | {"waiting": self.learning.waiting}

    async def mistakes(self, request: Request) -> Response:
        """List mistakes after an example."""
        numbers = []
        for name, default in (("after", "0"), ("limit", "100")):
            text = request.query_params.get(name, default)
            if not (text.isascii() and text.isdecimal() and len(text) <= 18):
                raise Refused(f"{name} is a whole number", name)
            numbers.append(int(text))
        mistakes = await asyncio.to_thread(self.service.mistakes_after, numbers[0], min(numbers[1], 10_000))
        return Answer({"mistakes": mistakes})

    async def model(self, _: Request) -> Response:
        """Return the model as a file."""
        async with self.learning.lock:
            number, content = await asyncio.to_thread(self._saved)
        name = f'attachment; filename="{self.name}-{number}.linsep"'
        headers = {"Content-Disposition": name, "X-Number": str(number)}
        return Response(content, headers=headers, media_type="application/octet-stream")

    def _saved(self) -> tuple[int, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            number = self.service.export(path := os.path.join(folder, "model.linsep"))
            with open(path, "rb") as file:
                return number, file.read()

    async def events(self, _: Request) -> Response:
        """Tell how learning goes, as it goes."""
        if self.listeners >= _LISTENERS:
            raise Refused("too many listeners", status=429)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        self.listeners += 1
        try:
            last, spoken = -1, time.monotonic()
            while not self.closing:
                if self.service.number != last:
                    stats = await self._stats()
                    last, spoken = stats["examples"], time.monotonic()
                    stats["recent"] = list(self.service.recent)[-20:]
                    yield f"id: {last}\nevent: stats\ndata: {json.dumps(stats)}\n\n"
                elif time.monotonic() - spoken > _HEARTBEAT:
                    spoken = time.monotonic()
                    yield ": still here\n\n"
                await asyncio.sleep(_PACE)
        finally:
            self.listeners -= 1

    async def metrics(self, _: Request) -> Response:
        """Return counters in the text format of Prometheus."""
        service, queue = self.service, self.learning
        numbers = (
            ("examples_total", "Examples learned.", service.number),
            ("mistakes_total", "Examples on which the weights changed.", service.mistakes),
            ("errors_total", "Examples whose label was predicted wrong before learning.", service.errors),
            ("classes", "Classes seen.", len(service.labels)),
            ("features", "Columns of the model.", service.columns.width),
            ("learn_requests_total", "Requests to learn, since the start.", self.learned),
            ("predict_requests_total", "Requests to predict, since the start.", self.predicted),
            ("refused_total", "Requests refused because the queue was full.", queue.refused),
            ("commits_total", "Groups of requests written, since the start.", queue.groups),
            ("waiting", "Examples that wait to be learned.", queue.waiting),
            ("snapshot", "Number of the example of the newest snapshot.", service.snapshot_number),
            ("start_time_seconds", "When the server started.", self.started),
        )
        kinds = {name: "counter" if name.endswith("_total") else "gauge" for name, _, _ in numbers}
        lines = [
            f"# HELP linsep_{n} {about}\n# TYPE linsep_{n} {kinds[n]}\nlinsep_{n} {v}\n" for n, about, v in numbers
        ]
        return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        """Return the description of this interface."""
        text = _file("openapi.json").replace("VERSION", __version__).replace("/models/NAME", f"/models/{self.name}")
        return Response(text, media_type="application/json")

    async def page(self, _: Request) -> Response:
        """Return the page that shows how learning goes."""
        return HTMLResponse(_file("page.html").replace("{{name}}", self.name))


@lru_cache
def _file(name: str) -> str:
    return resources.files("linsep.serve").joinpath(name).read_text(encoding="utf-8")


def _header(scope: Scope, name: bytes, default: Any) -> Any:
    """Return a header of a request; Starlette's own way takes longer than to learn from a row."""
    if "by name" not in scope:
        scope["by name"] = dict(reversed(scope["headers"]))  # of several the first
    return scope["by name"][name].decode("latin-1") if name in scope["by name"] else default


def _finite(value: Any) -> Any:
    """Return nested lists of numbers with null for what is none."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if abs(value) < float("inf") else None


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request; refuse it as soon as it is too long."""
    if _header(request.scope, b"content-encoding", "identity") != "identity":
        raise Refused("a compressed body is not taken", "Content-Encoding", 415)
    length = _header(request.scope, b"content-length", "0")
    size, parts, more = 0, list[bytes](), not (length.isdecimal() and int(length) > limits.body)
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False) and size <= limits.body
    if size > limits.body or not parts:
        raise Refused(f"a body of more than {limits.body} bytes", status=413)
    return b"".join(parts)
