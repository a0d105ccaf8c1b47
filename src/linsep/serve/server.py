"""Listens: checks that it is safe to, runs the application, and stops without losing anything."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from linsep.errors import DataError
from linsep.serve.app import Access, Application
from linsep.serve.service import Service

_LOCAL = frozenset(("localhost", "127.0.0.1", "[::1]"))


class Address(NamedTuple):
    """Where to listen, and who may ask."""

    host: str = "127.0.0.1"
    port: int = 8080
    token_file: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False

    def access(self, requests: int, seconds: float) -> Access:
        """Return who may ask; refuse an address that others can reach without a token and encryption."""
        learn, predict = read_tokens(self.token_file) if self.token_file else ((), ())
        local = _is_local(self.host)
        if not local and not learn:
            message = "{0} can be reached from other machines: name a file with tokens, {1}"
            raise DataError("", message, ("host", self.host), ("token_file", "FILE"))
        if not local and not self.tls_certificate and not self.behind_proxy:
            message = (
                "{0} can be reached from other machines, and tokens would cross the network in the clear: give {1} "
            )
            message += "and {2}, or {3} if a proxy encrypts"
            settings = (("host", self.host), ("tls_certificate", "FILE"), ("tls_key", "FILE"), ("behind_proxy", True))
            raise DataError("", message, *settings)
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise DataError("", "{0} and {1} go together", ("tls_certificate",), ("tls_key",))
        hosts = _LOCAL | {self.host} if local and not learn and not self.behind_proxy else None
        return Access(learn, predict, hosts, requests, seconds)


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_tokens(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens in a file, those that may teach and those that may only ask; others must not read the file."""
    if os.stat(path).st_mode & 0o077:
        raise DataError(path, f"other users can read the tokens: chmod 600 {path}")
    tokens: dict[str, list[str]] = {"learn": [], "predict": []}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            kind, token = words if len(words) == 2 else ("learn", words[0])
            if len(words) > 2 or kind not in tokens or len(token) < 16:
                message = "a line is a token of at least 16 characters, perhaps after the word learn or predict"
                raise DataError(f"{path}, line {number}", message)
            tokens[kind].append(token)
    if not tokens["learn"]:
        raise DataError(path, "no token that may teach")
    return tuple(tokens["learn"]), tuple(tokens["predict"])


class Joined:
    """Passes on to a transport what is written, headers and body with one system call: two writes in a row are one."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.transport, self.loop, self.waiting = transport, loop, b""
        self.get_extra_info, self.is_closing = transport.get_extra_info, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading

    def write(self, data: bytes) -> None:
        """Keep the first part for the next one, which mostly follows at once, or until the loop has its next turn."""
        if self.waiting:
            self.transport.write(self.waiting + data)
            self.waiting = b""
        elif data:
            self.waiting = data
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what waits."""
        self.transport.write(self.waiting)
        self.waiting = b""

    def close(self) -> None:
        """Write what waits, and close the connection."""
        self.flush()
        self.transport.close()


class Impatient(H11Protocol):
    """Closes connections over which no whole request comes within some seconds, however slowly bytes drip in."""

    patience = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(Joined(transport, self.loop))  # type: ignore[arg-type]
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


class Server(uvicorn.Server):
    """A server that ends well when it is told to: SIGTERM and Ctrl-C finish what was accepted."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to those who have taken them before."""
        yield

    def end(self) -> None:
        """Stop: no new requests, and an end to events."""
        self.config.app.closing = True  # type: ignore[union-attr]
        self.should_exit = True


def serve(
    service: Service,
    address: Address,
    access: Access,
    *,
    name: str = "linsep",
    waiting: int = 200_000,
    patience: float = 10.0,
    started: Callable[[str], None] | None = None,
    stop: list[Callable[[], object]] | None = None,
) -> None:
    """Answer requests until a signal comes, or ``stop``, to which a function is added, is called; close the service."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 65536)) if hard > 0 else soft, hard))
    sys.setswitchinterval(0.0002)  # threads that learn and that answer must not wait long for each other
    gc.freeze()  # what is there by now stays: no request has to wait until all of it was looked at
    app = Application(service, name, access, waiting)
    protocol = type("Patience", (Impatient,), {"patience": patience})
    config = uvicorn.Config(
        app, host=address.host, port=address.port, http=protocol, ws="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, timeout_keep_alive=30, backlog=2048, timeout_graceful_shutdown=60,
        ssl_certfile=address.tls_certificate, ssl_keyfile=address.tls_key, proxy_headers=False,
    )  # fmt: skip
    server = Server(config)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends without delay only then
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address.host, address.port))
        except OSError as error:
            message = "cannot listen on {0} and {1}: " + str(error.strerror)
            raise DataError("", message, ("host", address.host), ("port", address.port)) from None
        listening.listen(2048)
        host, port = listening.getsockname()[:2]

        async def run() -> None:
            loop = asyncio.get_running_loop()
            for each in (signal.SIGTERM, signal.SIGINT):
                with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread
                    loop.add_signal_handler(each, server.end)
            if stop is not None:
                stop.append(lambda: loop.call_soon_threadsafe(server.end))
            if started is not None:
                scheme = "https" if address.tls_certificate else "http"
                started(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
            await server.serve([listening])
            await app.close()

        asyncio.run(run())
    finally:
        service.close()
        listening.close()


@contextlib.contextmanager
def running(folder: str | os.PathLike[str], model: Any = None, **options: Any) -> Iterator[str]:
    """Serve a folder in a thread of this process as long as the context lasts; yield the address."""
    address, ready = options.pop("address", Address(port=0)), threading.Event()
    access = address.access(options.pop("requests", 1000), options.pop("seconds", 30.0))
    service, tokens = Service(folder, model), [""]

    def started(url: str) -> None:
        tokens[0] = url
        ready.set()

    thread = threading.Thread(
        target=lambda: serve(service, address, access, started=started, stop=stop, **options), daemon=True
    )
    stop: list[Callable[[], object]] = []
    thread.start()
    if not ready.wait(60):
        raise RuntimeError("the server did not start")
    try:
        yield tokens[0]
    finally:
        stop[0]()
        thread.join()
