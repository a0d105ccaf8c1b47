"""Figures, as scikit-learn style Display classes; the only room that draws.

``plane`` draws planes among rows, ``run`` what happened pass by pass and mistake by mistake, ``rows`` how far the rows
keep from the plane, ``regions`` many classes, ``motion`` a run as an animation. ``style`` has the colours.
"""

from linsep.show.motion import animate
from linsep.show.plane import PlaneDisplay
from linsep.show.planes import PlanesDisplay
from linsep.show.regions import RegionsDisplay
from linsep.show.rows import MarginsDisplay
from linsep.show.run import BracketDisplay, PassesDisplay, TheoremDisplay
from linsep.show.style import theme

__all__ = [
    "BracketDisplay",
    "MarginsDisplay",
    "PassesDisplay",
    "PlaneDisplay",
    "PlanesDisplay",
    "RegionsDisplay",
    "TheoremDisplay",
    "animate",
    "theme",
]
