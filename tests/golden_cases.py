"""All golden runs: importing the modules that have them fills the table."""

import golden_files
import golden_learning
import golden_proving
from golden_tools import CASES

__all__ = ["CASES", "golden_files", "golden_learning", "golden_proving"]
