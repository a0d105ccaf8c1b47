"""The public names and where each is defined: the one list, for type checkers and for ``__init__.py``."""

from linsep import cluster as cluster
from linsep.data.opening import read as read
from linsep.data.teaching import teacher as teacher
from linsep.errors import NotSeparable as NotSeparable
from linsep.figures.animation import animate as animate
from linsep.figures.plane import PlaneDisplay as PlaneDisplay
from linsep.figures.planes import PlanesDisplay as PlanesDisplay
from linsep.figures.regions import RegionsDisplay as RegionsDisplay
from linsep.figures.row_margins import MarginsDisplay as MarginsDisplay
from linsep.figures.runs import BracketDisplay as BracketDisplay
from linsep.figures.runs import PassesDisplay as PassesDisplay
from linsep.figures.runs import TheoremDisplay as TheoremDisplay
from linsep.figures.style import theme as theme
from linsep.models.exchange import from_liblinear as from_liblinear
from linsep.models.exchange import to_liblinear as to_liblinear
from linsep.models.exchange import to_onnx as to_onnx
from linsep.models.files import load as load
from linsep.models.files import save as save
from linsep.models.from_files import fit_source as fit_source
from linsep.models.kernel_perceptron import KernelPerceptron as KernelPerceptron
from linsep.models.max_margin import MaxMarginClassifier as MaxMarginClassifier
from linsep.models.passive_aggressive import PassiveAggressive as PassiveAggressive
from linsep.models.perceptron import Perceptron as Perceptron
from linsep.pages.explorer import explore as explore
from linsep.pages.reporting import report as report
from linsep.problem import Plane as Plane
from linsep.prove.audits import Audit as Audit
from linsep.prove.audits import audit as audit
from linsep.prove.claims import Refutation as Refutation
from linsep.prove.claims import Separator as Separator
from linsep.prove.claims import Verdict as Verdict
from linsep.prove.documents import from_json as from_json
from linsep.prove.documents import to_json as to_json
from linsep.prove.documents import verify as verify
from linsep.prove.error_bounds import ErrorBound as ErrorBound
from linsep.prove.error_bounds import Generalization as Generalization
from linsep.prove.error_bounds import generalization as generalization
from linsep.prove.margins import Margin as Margin
from linsep.prove.margins import largest_margin as largest_margin
from linsep.prove.mistake_bounds import Bound as Bound
from linsep.prove.mistake_bounds import mistake_bound as mistake_bound
from linsep.prove.separability import separate as separate
from linsep.prove.separability import separator as separator

__version__: str
