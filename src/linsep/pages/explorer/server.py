"""The explorer's web server: loopback address only, with a secret token."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from linsep.pages.explorer.presets import PRESETS
from linsep.pages.explorer.share import answered, module, page

LARGEST = 4 << 20  # bytes of a question
_BODY_SECONDS = 30.0  # in which all of it must come
_HOST = "127.0.0.1"
_FILES = {"": "text/html", "explore.js": "text/javascript", "explore.css": "text/css"}
_QUESTIONS = ("compute", "preset", "read", "proof", "export")
_GUARDS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate:
    """Lets in only requests that carry the token, ask for this host by its name, and come from its own page."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers, scope["path"])
        if refusal is not None:
            await PlainTextResponse(refusal[1], refusal[0], _GUARDS)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> tuple[int, str] | None:
        if headers.get("host", "") not in self.hosts:  # another name for this address: DNS rebinding
            return 421, "The host name of this request is not that of this server."
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return 403, "The page is for this machine alone."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "The page is for this machine alone."
        given = path.removeprefix("/").split("/")[0].encode()  # "OPTIONS *" has no slash at all
        if not secrets.compare_digest(given, self.token):
            return 404, "Open the full address that linsep explore printed."
        return None


class Impatient(H11Protocol):
    """Closes connections over which no whole request comes within some seconds, however slowly bytes drip in."""

    patience = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the clock stands still only while a request is being answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._deadline is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.patience, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def application(token: str, port: int, first: dict[str, Any] | None = None) -> ASGIApp:
    """Return the server's application.

    Parameters
    ----------
    token : str
        First part of every path.
    port : int
        Part of the names under which it may be asked for.
    first : dict, default=None
        Points and settings to begin with.

    Returns
    -------
    application : ASGI application
    """
    alone = threading.Lock()  # one computation at a time; warnings are silenced for the whole process meanwhile

    def compute(kind: str, asked: Any) -> bytes:
        with alone:
            return json.dumps(answered(kind, asked), allow_nan=False).encode()

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            return PlainTextResponse("There is no such file.", 404, _GUARDS)
        text = module() if name == "explore.js" else page(name or "index.html")
        return Response(text, headers=_GUARDS, media_type=_FILES[name])

    async def start(_: Request) -> Response:
        presets = [{"name": name, "title": make().title} for name, make in PRESETS.items()]
        return JSONResponse({"presets": presets, "first": first}, headers=_GUARDS)

    async def question(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in _QUESTIONS:
            return JSONResponse({"error": "unknown request"}, 404, _GUARDS)
        try:
            body = await asyncio.wait_for(_body(request), _BODY_SECONDS)
            asked = None if body is None else json.loads(body)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return JSONResponse({"error": "the request is incomplete"}, 408, {**_GUARDS, "Connection": "close"})
        except (ValueError, RecursionError):
            return JSONResponse({"error": "the request is not JSON"}, 400, _GUARDS)
        if body is None:
            return JSONResponse({"error": f"more than {LARGEST >> 20} MB"}, 413, _GUARDS)
        return Response(await run_in_threadpool(compute, kind, asked), headers=_GUARDS, media_type="application/json")

    routes = [
        Route("/{token}/start", start),
        Route("/{token}/{kind}", question, methods=["POST"]),
        Route("/{token}/{name:path}", file),
    ]
    hosts = frozenset(f"{name}:{port}" for name in (_HOST, "localhost"))
    return Gate(Starlette(routes=routes), token, hosts)


async def _body(request: Request) -> bytes | None:
    """Return what was sent, None if it is too much."""
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > LARGEST:
            return None
        parts.append(chunk)
    return b"".join(parts)


def serve(
    first: dict[str, Any] | None = None, *, port: int = 0, browser: bool = True, told: Callable[[str], None] = print
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    first : dict, default=None
        Points and settings to begin with.
    port : int, default=0
        0 takes a free one.
    browser : bool, default=True
        Whether to open a browser.
    told : callable
        Told the address.
    """
    # the protocol by name: asyncio sends small answers at once only where it sees that it is TCP
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except OSError as error:
            raise OSError(f"port {port}: {error.strerror}. Leave out --port to use a free one.") from error
        listening.listen(64)
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://{_HOST}:{port}/{token}/"
        told(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        config = uvicorn.Config(
            application(token, port, first),
            http=Impatient,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        uvicorn.Server(config).run(sockets=[listening])
