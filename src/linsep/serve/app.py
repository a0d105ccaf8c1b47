"""The HTTP interface of the served learner; `openapi` describes it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linsep.data.example_log import encode
from linsep.errors import DataError
from linsep.serve.inference import Inference
from linsep.serve.openapi import description
from linsep.serve.parsing import Limits, Parsed, Refused, parse
from linsep.serve.service import Job, Service, as_lists

_SMALL = 1 << 15  # bytes of a body that is parsed at once, rather than in another thread
_PACE, _HEARTBEAT = 0.5, 15.0  # seconds between two events, and between two signs of life
_LISTENERS = 100  # that may wait for events
_OPEN = ("/", "/openapi.json", "/v2/health/live", "/v2/health/ready")  # no token is asked for
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


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
        given = token.encode("utf-8", "surrogateescape")
        return sum(secrets.compare_digest(given, each.encode()) for each in known) > 0


def respond(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(json.dumps(value), status, headers, "application/json")


def refusal(error: Refused) -> Response:
    """Return the answer to a request that is not done."""
    wait = {"Retry-After": "1" if error.status == 429 else "5"} if error.status in (429, 503) else None
    return respond({"error": str(error), "at": error.at}, error.status, wait)


class Guard:
    """Lets in requests that carry a token, and cuts off those that take too long."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access, self.active = app, access, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refused(Headers(scope=scope), scope["path"])
        if refused is not None:
            await refusal(refused)(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        self.active += 1
        try:
            async with asyncio.timeout(None if scope["path"] == "/v1/events" else self.access.seconds):
                await self.app(scope, receive, watched)
        except TimeoutError:
            if not begun:
                what = f"the request took more than {self.access.seconds:g} seconds: a retry with its key is safe"
                headers = {"Connection": "close"}
                await respond({"error": what, "at": None}, 408, headers)(scope, receive, send)
        finally:
            self.active -= 1

    def _refused(self, headers: Headers, path: str) -> Refused | None:
        access = self.access
        if access.hosts is not None:
            host = headers.get("host", "")
            if host.rpartition(":")[0] not in access.hosts and host not in access.hosts:  # DNS rebinding
                return Refused("the host name of this request is not that of this server", "Host", 421)
        if path in _OPEN:
            return None
        if access.learn or access.predict:
            kind, _, token = headers.get("authorization", "").partition(" ")
            teaching = path == "/v1/learn"
            if kind.lower() != "bearer" or not access.allows(token.strip(), teaching):
                known = kind.lower() == "bearer" and access.allows(token.strip(), False)
                what = "this token may not teach" if known else "a token is needed: Authorization: Bearer TOKEN"
                return Refused(what, "Authorization", 403 if known else 401)
        if self.active >= access.requests:
            return Refused("too many requests at the same time", status=429)
        return None


class Application:
    """The routes, and what they share."""

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name, self.listeners = service, name, 0
        self.closing = False
        self.inference = Inference(service, name)
        self.learned = self.predicted = 0  # requests

    def routes(self) -> list[Route]:
        """Return the routes."""
        infer = self.inference
        named = "/v2/models/{name}"
        return [
            Route("/v1/learn", self.learn, methods=["POST"]),
            Route("/v1/predict", self.predict, methods=["POST"]),
            Route("/v1/stats", self.stats),
            Route("/v1/mistakes", self.mistakes),
            Route("/v1/model", self.model),
            Route("/v1/events", self.events),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            Route("/", self.page),
            Route("/v2", infer.server),
            Route("/v2/health/live", infer.live),
            Route("/v2/health/ready", infer.ready),
            Route(named, infer.about),
            Route(f"{named}/ready", infer.model_ready),
            Route(f"{named}/infer", self.infer, methods=["POST"]),
            Route(f"{named}/versions/{{version}}", infer.about),
            Route(f"{named}/versions/{{version}}/ready", infer.model_ready),
            Route(f"{named}/versions/{{version}}/infer", self.infer, methods=["POST"]),
        ]

    async def read(self, request: Request, labeled: bool) -> tuple[Parsed, bytes]:
        """Return the examples of a request, and its body."""
        body = await read_body(request, self.service.limits)
        kind, *rest = request.headers.get("content-type", "application/json").split(";")
        options = {name.strip(): value.strip(' "') for name, _, value in (each.partition("=") for each in rest)}
        if "target" in request.query_params:
            options["target"] = request.query_params["target"]
        given = (body, kind.strip().lower(), options, self.service.limits, self.service.columns)
        if len(body) <= _SMALL:
            return parse(*given, labeled=labeled), body
        return await asyncio.to_thread(parse, *given, labeled=labeled), body

    async def learn(self, request: Request) -> Response:
        """Learn from examples; answer when they are durable."""
        parsed, body = await self.read(request, labeled=True)
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= 255:
            raise Refused("a key has 1 to 255 characters", "Idempotency-Key")
        future = asyncio.get_running_loop().create_future()
        self.service.submit(parsed, key, body, future)
        self.learned += 1
        answer = await future
        return Response(answer.text(self.service.label_texts), media_type="application/json")

    async def predict(self, request: Request) -> Response:
        """Predict labels with the newest model in memory; rows with ids are kept."""
        parsed, body = await self.read(request, labeled=False)
        query = request.query_params
        wanted = [name for name in ("scores", "distances") if query.get(name, "false").lower() in ("true", "1", "")]
        if len(body) <= _SMALL:
            answer = self._predicted(parsed, wanted)
        else:
            answer = await asyncio.to_thread(self._predicted, parsed, wanted)
        self.predicted += 1
        if parsed.ids is not None:
            rows = zip(parsed.ids, as_lists(parsed), answer["labels"], strict=True)
            future = asyncio.get_running_loop().create_future()
            self.service.keep([(name, x, label) for name, x, label in rows if name is not None], future)
            await future
        return respond(answer)

    def _predicted(self, parsed: Parsed, wanted: list[str]) -> dict[str, Any]:
        predictor = self.service.predictor
        rows = encode(parsed.x, self.service.columns, None)
        S = predictor.scores(rows)
        answer: dict[str, Any] = {"labels": predictor.predict(S), "number": predictor.number}
        if "scores" in wanted:
            answer["scores"] = S.tolist()
            answer["classes"] = [] if predictor.classes is None else predictor.classes.tolist()
        if "distances" in wanted:
            known = predictor.classes is not None and predictor.norm > 0
            answer["distances"] = finite(predictor.distances(rows).tolist()) if known else None
        return answer

    async def infer(self, request: Request) -> Response:
        """Predict by the open inference protocol."""
        body = await read_body(request, self.service.limits)
        self.predicted += 1
        if len(body) <= _SMALL:
            return self.inference.infer(request, body)
        return await asyncio.to_thread(self.inference.infer, request, body)

    async def stats(self, request: Request) -> Response:  # noqa: ARG002
        """Say where the learner stands."""
        return respond(await asyncio.to_thread(self.service.stats))

    async def mistakes(self, request: Request) -> Response:
        """List mistakes after an example."""
        after, most = (_whole(request, name, default) for name, default in (("after", 0), ("limit", 100)))
        found = await asyncio.to_thread(self.service.mistakes, after, min(most, 10_000))
        return respond({"mistakes": found})

    async def model(self, request: Request) -> Response:  # noqa: ARG002
        """Return the model as a file."""
        try:
            number, content = await asyncio.to_thread(self._saved)
        except DataError as error:
            raise Refused(str(error), status=404) from None
        headers = {
            "Content-Disposition": f'attachment; filename="{self.name}-{number}.linsep"',
            "X-Number": str(number),
        }
        return Response(content, headers=headers, media_type="application/octet-stream")

    def _saved(self) -> tuple[int, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.linsep")
            number = self.service.export(path)
            with open(path, "rb") as file:
                return number, file.read()

    async def events(self, request: Request) -> Response:  # noqa: ARG002
        """Tell how learning goes, as it goes."""
        if self.listeners >= _LISTENERS:
            raise Refused("too many listeners", status=429)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        self.listeners += 1
        try:
            told, spoken = -1, time.monotonic()
            while not self.closing:
                if self.service.learner.number != told:
                    stats = await asyncio.to_thread(self.service.stats)
                    told, spoken = stats["examples"], time.monotonic()
                    stats["recent"] = list(self.service.recent)[-20:]
                    yield f"id: {told}\nevent: stats\ndata: {json.dumps(stats)}\n\n"
                elif time.monotonic() - spoken > _HEARTBEAT:
                    spoken = time.monotonic()
                    yield ": still here\n\n"
                await asyncio.sleep(_PACE)
        finally:
            self.listeners -= 1

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        """Return counters in the text format of Prometheus."""
        service = self.service
        found = {
            "examples_total": ("counter", "Examples learned.", service.learner.number),
            "mistakes_total": ("counter", "Examples on which the weights changed.", service.learner.mistakes),
            "errors_total": ("counter", "Examples whose label was predicted wrong before learning.", service.errors),
            "classes": ("gauge", "Classes seen.", len(service.labels)),
            "features": ("gauge", "Columns of the model.", service.columns.width),
            "learn_requests_total": ("counter", "Requests to learn, since the start.", self.learned),
            "predict_requests_total": ("counter", "Requests to predict, since the start.", self.predicted),
            "refused_total": ("counter", "Requests refused because the queue was full.", service.refused),
            "commits_total": ("counter", "Groups of requests written, since the start.", service.groups),
            "waiting": ("gauge", "Examples that wait to be learned.", service.waiting),
            "snapshot": ("gauge", "Number of the example of the newest snapshot.", service.snapshot_number),
            "start_time_seconds": ("gauge", "When the server started.", service.started),
        }
        lines = [
            f"# HELP linsep_{name} {about}\n# TYPE linsep_{name} {kind}\nlinsep_{name} {value}\n"
            for name, (kind, about, value) in found.items()
        ]
        return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        """Return the description of this interface."""
        return respond(description(self.name))

    async def page(self, request: Request) -> Response:  # noqa: ARG002
        """Return the page that shows how learning goes."""
        return HTMLResponse(_page().replace("{{name}}", self.name))


@lru_cache
def _page() -> str:
    return resources.files("linsep.serve").joinpath("page.html").read_text(encoding="utf-8")


def finite(value: Any) -> Any:
    """Return nested lists of numbers with null for what is none."""
    if isinstance(value, list):
        return [finite(each) for each in value]
    return value if abs(value) < float("inf") else None


def _whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Refused(f"{name} is a whole number", name)
    return int(text)


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request; refuse it as soon as it is too long."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused("a compressed body is not taken", "Content-Encoding", 415)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > limits.body:
        raise Refused(f"a body of more than {limits.body} bytes", status=413)
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limits.body:
            raise Refused(f"a body of more than {limits.body} bytes", status=413)
        parts.append(chunk)
    return b"".join(parts)


def resolve(done: list[tuple[Job, Any]]) -> None:
    """Give answers to those who wait in the event loop."""
    for job, result in done:
        if not job.future.done():
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)


def application(service: Service, name: str = "linsep", access: Access | None = None) -> tuple[ASGIApp, Application]:
    """Return the application of a service, and its routes."""
    routes = Application(service, name)

    async def refused(_: Request, error: Exception) -> Response:
        return refusal(error if isinstance(error, Refused) else Refused.of(error))  # type: ignore[arg-type]

    async def failed(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return respond({"error": error.detail, "at": None}, error.status_code, dict(error.headers or {}))

    async def gone(_: Request, __: Exception) -> Response:
        return Response(status_code=499)

    async def bug(_: Request, __: Exception) -> Response:
        return respond({"error": "a bug in linsep", "at": None}, 500)

    handlers: dict[Any, Any] = {
        Refused: refused,
        DataError: refused,
        HTTPException: failed,
        ClientDisconnect: gone,
        Exception: bug,
    }
    app = Starlette(routes=routes.routes(), exception_handlers=handlers)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_guards(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_RAW]
            await send(message)

        await app(scope, receive, with_guards if scope["type"] == "http" else send)

    return Guard(guarded, access or Access()), routes


_RAW = [(name.lower().encode(), value.encode()) for name, value in _GUARDS.items()]
