"""Clients of a served learner, for programs that wait and for programs that do not."""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Generator
from typing import Any, Self

import httpx
import numpy as np

from linsep.data.arrays import is_sparse

_AGAIN = (408, 429, 500, 502, 503, 504)  # statuses after which a retry may help


class ServerError(RuntimeError):
    """What a server answered instead of doing what was asked: ``status``, and where in the request it saw the fault."""

    def __init__(self, status: int, what: str, at: str | None) -> None:
        super().__init__(f"{what} ({at})" if at else what)
        self.status, self.at = status, at


class _Client:
    """What both clients share: what to send, when to try again, what an answer means."""

    _kind: type[httpx.Client | httpx.AsyncClient]
    _http: httpx.Client | httpx.AsyncClient
    _run: Callable[..., Any]

    def __init__(
        self, url: str, token: str | None = None, *, retries: int = 8, timeout: float = 60.0, longest_wait: float = 30.0
    ) -> None:
        self.url, self.retries, self.longest_wait = url.rstrip("/"), retries, longest_wait
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        self._http = self._kind(base_url=self.url, headers=headers, timeout=timeout)

    def _ask(
        self, path: str, meaning: Callable[[httpx.Response], Any], examples: Any = None, **options: Any
    ) -> Generator[httpx.Request | float, Any, Any]:
        """Ask until there is an answer, and return its meaning; wait when the network fails or the server is busy.

        What is yielded is to be sent, or is a number of seconds to wait.
        """
        if examples is not None:
            content = json.dumps(examples, allow_nan=False, default=lambda value: value.tolist())
            options["content"] = content.encode()
            options["headers"] = {"Content-Type": "application/json"} | options.get("headers", {})
        request = self._http.build_request("GET" if examples is None else "POST", path, **options)
        for attempt in range(self.retries + 1):
            answer = yield request
            wait = min(self.longest_wait, 0.05 * 2 ** min(attempt, 20))
            if isinstance(answer, httpx.TransportError):
                if attempt == self.retries:
                    raise answer
            elif answer.status_code < 300:
                return meaning(answer)
            elif attempt == self.retries or answer.status_code not in _AGAIN:
                raise _error(answer)
            else:
                asked = answer.headers.get("retry-after", "")
                wait = max(wait, float(asked)) if asked.isdecimal() else wait
            yield wait * random.uniform(0.5, 1.0)
        raise AssertionError

    def learn(self, x: Any, y: Any, *, ids: Any = None, key: str | None = None) -> Any:
        """Have examples learned; return of each its number, what was predicted before, and whether it was a mistake.

        ``x`` is a row or several, lists or dicts; None if the rows with these ``ids`` were predicted before.
        """
        rows, one = (None, False) if x is None else _rows(x)
        labels = [y] if one or isinstance(y, str) or not hasattr(y, "__len__") else list(y)
        names = [ids] if isinstance(ids, str) else None if ids is None else list(ids)
        if rows is None and names is None:
            raise ValueError("learn needs rows, or the ids of rows that were predicted")
        if any(each is not None and len(each) != len(labels) for each in (rows, names)):
            raise ValueError(f"there are {len(labels)} labels, but not as many rows or ids")
        fields = {"x": rows, "y": labels, "id": names}
        known = {name: values for name, values in fields.items() if values is not None}
        examples = [dict(zip(known, values, strict=True)) for values in zip(*known.values(), strict=True)]
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._run(self._ask("/v1/learn", lambda answer: answer.json()["examples"], examples, headers=headers))

    def predict(self, x: Any, *, ids: Any = None, scores: bool = False) -> Any:
        """Return the label of a row, or a list of those of several; with ``ids`` the server keeps the rows.

        With ``scores`` the scores are returned instead.
        """
        rows, one = _rows(x)
        names = [ids] if isinstance(ids, str) else [None] * len(rows) if ids is None else list(ids)
        if len(names) != len(rows):
            raise ValueError(f"there are {len(rows)} rows, but {len(names)} ids")
        examples = [{"x": row, "id": name} for row, name in zip(rows, names, strict=True)]
        name, wanted = "scores" if scores else "labels", 0 if one else slice(None)
        params = {"scores": str(scores).lower()}
        return self._run(self._ask("/v1/predict", lambda answer: answer.json()[name][wanted], examples, params=params))

    def stats(self) -> Any:
        """Return where the learner stands."""
        return self._run(self._ask("/v1/stats", httpx.Response.json))

    def model(self) -> Any:
        """Return the model, the content of a file that `linsep.load` reads."""
        return self._run(self._ask("/v1/model", lambda answer: answer.content))


def _error(answer: httpx.Response) -> ServerError:
    try:
        content = answer.json()
        return ServerError(answer.status_code, str(content["error"]), content.get("at"))
    except (ValueError, KeyError, TypeError):
        return ServerError(answer.status_code, f"the server answers {answer.status_code}", None)


def _rows(x: Any) -> tuple[list[Any], bool]:
    """Return rows as JSON has them, and whether it was a single one."""
    if isinstance(x, dict):
        return [x], True
    if hasattr(x, "to_dict") and hasattr(x, "columns"):  # a frame of pandas
        return x.to_dict("records"), False
    if is_sparse(x):
        x = x.toarray()
    if isinstance(x, list | tuple) and x and all(isinstance(row, dict | list | tuple) for row in x):
        return list(x), False
    array = np.asarray(x)
    return (array.tolist(), False) if array.ndim == 2 else ([array.tolist()], True)


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

    _kind = httpx.Client
    _http: httpx.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _run(self, steps: Generator[Any, Any, Any]) -> Any:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            if isinstance(step, float):
                time.sleep(step)
                answer = None
                continue
            try:
                answer = self._http.send(step)
            except httpx.TransportError as error:
                answer = error


class AsyncClient(_Client):
    """The client for asyncio: the parameters and the methods of `Client`, which are to be awaited.

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

    _kind = httpx.AsyncClient
    _http: httpx.AsyncClient

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _run(self, steps: Generator[Any, Any, Any]) -> Any:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            if isinstance(step, float):
                await asyncio.sleep(step)
                answer = None
                continue
            try:
                answer = await self._http.send(step)
            except httpx.TransportError as error:
                answer = error
