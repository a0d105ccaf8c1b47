"""The explorer as a notebook widget."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from linsep.pages.explorer.presets import PRESETS, worked
from linsep.pages.explorer.requests import Points, Settings
from linsep.pages.explorer.share import answered, module, page


class Explorer(anywidget.AnyWidget):
    """The page in a notebook; ``points`` and ``settings`` follow what is done on it."""

    _esm = module()
    _css = page("explore.css")
    points = traitlets.Dict().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    presets: Any = traitlets.List().tag(sync=True)

    def __init__(self, points: Points, settings: Settings) -> None:
        presets = [{"name": name, "title": make().title} for name, make in PRESETS.items()]
        super().__init__(points=points.plain(), settings=settings.plain(), presets=presets)
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: Any, __: Any) -> None:
        """Answer a question of the page under the number that it has."""
        if isinstance(message, dict) and isinstance(message.get("kind"), str):
            self.send({"number": message.get("number"), "answer": answered(message["kind"], message.get("asked"))})


def of_rows(X: Any, y: Any, settings: dict[str, Any]) -> Explorer:
    """Return the widget for some rows, or for the worked example if there are none."""
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither")
    if X is None:
        first = worked()
        return Explorer(first.points, Settings.of({**first.settings.plain(), **settings}))
    return Explorer(Points.of_arrays(X, y), Settings.of(settings))
