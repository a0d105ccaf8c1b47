"""What is kept beside the weights, in the units of the user."""

import numpy as np
import pytest

from linsep.data.scaling import Scaler
from linsep.learn.weights import Companion, Kind, Weights


@pytest.mark.parametrize("power", [1, 2, 0, -2])
def test_a_companion_changes_with_its_power_of_the_units(power):
    """A column four times as large has a weight a fourth as large, and squares 16 times as large."""
    scaler = Scaler("standard", scale=np.array([4.0, 1.0]), shift=np.array([0.0, 0.0]))
    held = Companion(Kind("other", power=power), np.array([[3.0, 5.0]]), np.array([7.0]))
    weights = Weights(np.array([[8.0, 2.0]]), np.array([1.0]), [held])
    weights.unscale(scaler)
    assert weights.W.tolist() == [[2.0, 2.0]]
    assert held.W.tolist() == [[3.0 * 4.0**-power, 5.0]]
    assert held.b.tolist() == [7.0]
    again = Weights.from_state(weights.state(), 1).companions["other"]
    assert again.kind == held.kind
    assert again.W.tolist() == held.W.tolist()
