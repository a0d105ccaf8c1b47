"""What ``linsep fit`` does when nobody says how: scales where sizes differ, averages where no run ends."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import PassiveAggressive, Perceptron, fit_source, generalization, load, read, save, teacher
from linsep.data.scaling import Ranges, Scaler
from linsep.errors import DataNote


def overlapping(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + y[:, None] * 0.7, y


@pytest.mark.parametrize("kind", [Perceptron, PassiveAggressive])
def test_auto_keeps_the_last_weights_of_a_run_that_ends_and_the_average_of_others(kind: type, tmp_path: Path) -> None:
    X, y, _ = teacher(100, 3, margin=0.1, random_state=0)
    auto, last = kind(keep="auto").fit(X, y), kind().fit(X, y)
    assert auto.stop_reason_ == "separated"
    assert auto.coef_.tolist() == last.coef_.tolist()
    assert auto.training_errors_ == 0
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        auto, average = (kind(keep=keep, max_iter=25).fit(X, y) for keep in ("auto", "average"))
    assert auto.coef_.tolist() == average.coef_.tolist()
    assert (auto.training_errors_, auto.margin_) == (average.training_errors_, average.margin_)
    save(auto, tmp_path / "m.linsep")
    assert load(tmp_path / "m.linsep").coef_.tolist() == average.coef_.tolist()
    assert auto.partial_fit(X, y).coef_.tolist() == average.partial_fit(X, y).coef_.tolist()


def test_a_clean_piece_of_a_stream_is_no_end() -> None:
    X, y = overlapping()
    auto, average = Perceptron(keep="auto"), Perceptron(keep="average")
    for i in range(len(y)):
        auto.partial_fit(X[[i]], y[[i]], classes=[0, 1])
        average.partial_fit(X[[i]], y[[i]], classes=[0, 1])
        assert auto.coef_.tolist() == average.coef_.tolist()


def test_auto_has_the_bounds_of_the_weights_that_it_returns() -> None:
    X, y, _ = teacher(100, 2, margin=0.2, random_state=0)
    assert generalization(Perceptron(keep="auto", shuffle=False).fit(X, y), X, y).compression.applies


@pytest.mark.parametrize(("table", "uneven"), [
    ([[1, 2], [3, 4]], False),
    ([[1, 200], [3, 400]], True),
    ([[0.5, 2015], [0.7, 2015]], True),  # a constant counts by its size
    ([[1001.0], [1002.0]], True),  # far from the origin for its range
    ([[1, 9], [2, 10]], False),
])  # fmt: skip
def test_columns_of_different_size_are_scaled(table: list[list[float]], uneven: bool) -> None:
    X = np.array(table, dtype=float)
    assert Ranges.of([(X,)]).uneven() == uneven
    assert Ranges.of([(sp.csr_array(X),)]).uneven() == uneven
    assert Ranges.of([(X[:1],), (X[1:],)]).uneven() == uneven


def test_values_that_are_not_stored_are_zero() -> None:
    X = sp.csr_array(np.array([[1.0, 0.0], [1.0, 5.0]]))
    found = Ranges.of([(X,)])
    assert (found.low.tolist(), found.stored.tolist()) == ([1, 5], [2, 1])
    assert not found.uneven()


def test_scale_auto_is_standard_with_a_note() -> None:
    rng = np.random.default_rng(0)
    rows = [(a, b, int(a / 1000 + b > 1)) for a, b in zip(rng.uniform(0, 1000, 60), rng.uniform(0, 1, 60), strict=True)]
    text = "a,b,y\n" + "\n".join(f"{a:.3f},{b:.3f},{y}" for a, b, y in rows)
    with pytest.warns(DataNote, match="factor of more than 10, so linsep scales them .*scale='none' does not"):
        auto = fit_source(Perceptron(), read(io.BytesIO(text.encode())), scale="auto")
    standard = fit_source(Perceptron(), read(io.BytesIO(text.encode())), scale="standard")
    assert auto.coef_.tolist() == standard.coef_.tolist()
    assert auto.scaling_["kind"] == "standard"
    X, y = read(io.BytesIO(text.encode())).to_arrays()
    scaled = Perceptron().fit_scaled(X, y)
    assert scaled.coef_.tolist() == auto.coef_.tolist()
    plain = Perceptron().fit(Scaler.fit([(X,)], "standard").apply(X), y)
    assert plain.mistakes_ == scaled.mistakes_
    near = "a,b,y\n" + "\n".join(f"{a / 1000:.6f},{b:.3f},{y}" for a, b, y in rows)
    assert not hasattr(fit_source(Perceptron(), read(io.BytesIO(near.encode())), scale="auto"), "scaling_")


def test_words_of_texts_are_counts_that_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(f"w{j}" for j in rng.zipf(1.5, 12) % 300) for _ in range(200)]
    texts = "t,y\n" + "\n".join(f"{text},{i % 2}" for i, text in enumerate(words))
    amounts = "t,amount,y\n" + "\n".join(f"{text},{1000 + i},{i % 2}" for i, text in enumerate(words))

    def fitted(table: str) -> Perceptron:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_source(Perceptron(max_iter=2), read(io.BytesIO(table.encode())), scale="auto")

    assert not hasattr(fitted(texts), "scaling_")  # though a word occurs twelve times in a text
    scaling = fitted(amounts).scaling_
    assert scaling["scale"][0] == pytest.approx(np.std(np.arange(200)))
    assert set(scaling["scale"][1:].tolist()) == {1.0}


def test_the_majority_is_counted_among_training_rows() -> None:
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(max_iter=3, prove=False).fit(X, y)
        assert model.majority_rows_ == max(np.bincount(y))
        labels = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
        assert Perceptron(max_iter=3, prove=False).fit(X, labels).majority_rows_ == int((labels == "a").sum())
        weight = (y == 1).astype(float) + (np.arange(len(y)) < 10)
        seen = weight > 0
        model = Perceptron(max_iter=3, prove=False).fit(X, y, sample_weight=weight)
        assert model.majority_rows_ == max(np.bincount(y[seen]))
