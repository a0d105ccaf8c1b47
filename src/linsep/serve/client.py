"""Clients of a served learner, for programs that wait and for programs that do not."""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Self

import httpx
import numpy as np

from linsep.data.arrays import is_sparse

_AGAIN = (408, 429, 500, 502, 503, 504)  # statuses after which a retry may help


class ServerError(RuntimeError):
    """What a server answered instead of doing what was asked: ``status``, and where in the request it saw the fault."""

    def __init__(self, status: int, what: str, at: str | None) -> None:
        super().__init__(f"{what} ({at})" if at else what)
        self.status, self.at = status, at


class _Ask(NamedTuple):
    method: str
    url: str
    content: bytes | None = None
    headers: dict[str, str] | None = None
    params: dict[str, str] | None = None


class _Wait(NamedTuple):
    seconds: float


_Steps = Generator[_Ask | _Wait, Any, Any]


class _Client:
    """What both clients share: what to send, when to try again, what an answer means."""

    def __init__(
        self, url: str, token: str | None = None, *, retries: int = 8, timeout: float = 60.0, longest_wait: float = 30.0
    ) -> None:
        self.url, self.retries, self.timeout, self.longest_wait = url.rstrip("/"), retries, timeout, longest_wait
        self._headers = {"Authorization": f"Bearer {token}"} if token is not None else {}

    def _exchange(self, ask: _Ask, meaning: Callable[[httpx.Response], Any]) -> _Steps:
        """Ask until there is an answer; wait when the network fails or the server is busy."""
        for attempt in range(self.retries + 1):
            answer = yield ask
            last = attempt == self.retries
            if isinstance(answer, httpx.TransportError):
                if last:
                    raise answer
            elif answer.status_code < 300:
                return meaning(answer)
            elif last or answer.status_code not in _AGAIN:
                raise _error(answer)
            wait = min(self.longest_wait, 0.05 * 2 ** min(attempt, 20))
            if not isinstance(answer, Exception):
                asked = answer.headers.get("retry-after", "")
                wait = max(wait, float(asked)) if asked.isdecimal() else wait
            yield _Wait(wait * random.uniform(0.5, 1.0))
        raise AssertionError

    def _run(self, steps: _Steps) -> Any:
        raise NotImplementedError

    def learn(self, x: Any, y: Any, *, ids: Any = None, key: str | None = None) -> Any:
        """Have examples learned; return of each its number, what was predicted before, and whether it was a mistake.

        ``x`` is a row or several, lists or dicts; None if the rows with these ``ids`` were predicted before.
        """
        rows, one = (None, False) if x is None else _rows(x)
        labels = [y] if one or isinstance(y, str) or not hasattr(y, "__len__") else _plain(list(y))
        names = [ids] if isinstance(ids, str) else None if ids is None else list(ids)
        if rows is None and names is None:
            raise ValueError("learn needs rows, or the ids of rows that were predicted")
        if any(each is not None and len(each) != len(labels) for each in (rows, names)):
            raise ValueError(f"there are {len(labels)} labels, but not as many rows or ids")
        examples = [{"y": label} for label in labels]
        for name, values in (("x", rows), ("id", names)):
            for example, value in zip(examples, values or (), strict=False):
                example[name] = value
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex}
        ask = _Ask("POST", "/v1/learn", json.dumps(examples, allow_nan=False).encode(), headers)
        return self._run(self._exchange(ask, lambda answer: answer.json()["examples"]))

    def predict(self, x: Any, *, ids: Any = None, scores: bool = False) -> Any:
        """Return the label of a row, or a list of those of several; with ``ids`` the server keeps the rows.

        With ``scores`` the scores are returned instead.
        """
        rows, one = _rows(x)
        names = [ids] if isinstance(ids, str) else [None] * len(rows) if ids is None else list(ids)
        if len(names) != len(rows):
            raise ValueError(f"there are {len(rows)} rows, but {len(names)} ids")
        examples = [{"x": row, "id": name} for row, name in zip(rows, names, strict=True)]
        wanted, headers = "scores" if scores else "labels", {"Content-Type": "application/json"}
        content, params = json.dumps(examples, allow_nan=False).encode(), {"scores": str(scores).lower()}
        ask = _Ask("POST", "/v1/predict", content, headers, params)
        return self._run(self._exchange(ask, lambda answer: answer.json()[wanted][0 if one else slice(None)]))

    def stats(self) -> Any:
        """Return where the learner stands."""
        return self._run(self._exchange(_Ask("GET", "/v1/stats"), lambda answer: answer.json()))

    def model(self) -> Any:
        """Return the model, the content of a file that `linsep.load` reads."""
        return self._run(self._exchange(_Ask("GET", "/v1/model"), lambda answer: answer.content))


def _error(answer: httpx.Response) -> ServerError:
    try:
        found = answer.json()
        return ServerError(answer.status_code, str(found["error"]), found.get("at"))
    except (ValueError, KeyError, TypeError):
        return ServerError(answer.status_code, f"the server answers {answer.status_code}", None)


def _rows(x: Any) -> tuple[list[Any], bool]:
    """Return rows as JSON has them, and whether it was a single one."""
    if isinstance(x, dict):
        return [_plain(x)], True
    if hasattr(x, "to_dict") and hasattr(x, "columns"):  # a frame of pandas
        return [_plain(row) for row in x.to_dict("records")], False
    if is_sparse(x):
        x = x.toarray()
    if isinstance(x, list | tuple) and any(isinstance(row, dict) for row in x):
        return [_plain(row) for row in x], False
    if isinstance(x, list | tuple) and x and all(isinstance(row, list | tuple) for row in x):
        return [_plain(row) for row in x], False
    array = np.asarray(x)
    return (array.tolist(), False) if array.ndim == 2 else ([array.tolist()], True)


def _plain(value: Any) -> Any:
    """Return labels and cells of NumPy as those of Python."""
    if isinstance(value, dict):
        return {name: _plain(cell) for name, cell in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(cell) for cell in value]
    return value.tolist() if hasattr(value, "tolist") else value


class Client(_Client):
    """A client of ``linsep serve``: learns and predicts over HTTP, and tries again until it is done, once.

    Parameters
    ----------
    url : str
        Address of the server.
    token : str, optional
        Sent with every request.
    retries : int
        How often to try again when the network fails or the server is busy, with longer and longer waits. Every
        request to learn has a key, so that trying again cannot teach twice.
    timeout : float
        Seconds to wait for one answer.
    longest_wait : float
        Seconds to wait at most before trying again, unless the server asks for more.

    Examples
    --------
    >>> import tempfile
    >>> from linsep import Client
    >>> from linsep.serve.server import running
    >>> with tempfile.TemporaryDirectory() as folder, running(folder) as url, Client(url) as client:
    ...     learned = client.learn([[1, 0], [0, 1]], ["left", "right"])
    ...     print([example["number"] for example in learned], client.predict([[2, 0], [0, 3]]))
    [1, 2] ['left', 'right']
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._http = httpx.Client(base_url=self.url, headers=self._headers, timeout=self.timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _run(self, steps: _Steps) -> Any:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            answer = None
            if isinstance(step, _Wait):
                time.sleep(step.seconds)
                continue
            try:
                answer = self._http.request(**step._asdict())
            except httpx.TransportError as error:
                answer = error


class AsyncClient(_Client):
    """The client for asyncio: the methods of `Client`, to be awaited.

    Parameters
    ----------
    url : str
    token : str, optional
    retries : int
    timeout : float
    longest_wait : float

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from linsep import AsyncClient
    >>> from linsep.serve.server import running
    >>> async def main(url):
    ...     async with AsyncClient(url) as client:
    ...         await client.learn([[1, 0], [0, 1]], ["left", "right"])
    ...         return await client.predict([2, 0])
    >>> with tempfile.TemporaryDirectory() as folder, running(folder) as url:
    ...     print(asyncio.run(main(url)))
    left
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=self.timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _run(self, steps: _Steps) -> Any:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            answer = None
            if isinstance(step, _Wait):
                await asyncio.sleep(step.seconds)
                continue
            try:
                answer = await self._http.request(**step._asdict())
            except httpx.TransportError as error:
                answer = error
