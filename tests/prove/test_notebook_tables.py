"""Results in notebooks: small tables with the state of the proof, every text escaped, in the colors of the page."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import linsep

X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 3.0], [2.0, 5.0]])
Y = ["a<b", "a<b", "c&d", "c&d", "c&d"]
MIXED = ["a<b", "c&d", "a<b", "c&d", "a<b"]


class Reader(HTMLParser):
    """Collects the text, and sees that what is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.said = [], []

    def handle_starttag(self, tag, attrs):
        assert not {name for name, _ in attrs} - {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


def results():
    model = linsep.Perceptron(random_state=0).fit(X, Y)
    coded = [label == "c&d" for label in Y]
    return {
        "separable": (linsep.separate(X, Y), "Proved in exact arithmetic"),
        "overlap": (linsep.separate(np.vstack((X, X)), [*Y, *Y[::-1]]), "Proved in exact arithmetic"),
        "margin": (linsep.largest_margin(X, Y), "Both bounds are certified"),
        "bound": (linsep.mistake_bound(X, Y), "Proved"),
        "audit": (linsep.audit(model, X, Y), "Checked at every mistake"),
        "generalization": (linsep.generalization(model, X, Y), "with probability at least 0.95"),
        "fewest": (linsep.fewest_errors(X, MIXED), "Both bounds are proved"),
        "separation": (linsep.separation(X, coded, names=["<script>", "b"]), "Every status is proved"),
    }


@pytest.mark.parametrize("name", results())
def test_results_are_tables_of_escaped_text(name):
    result, proof = results()[name]
    text = result._repr_html_()
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    said = " ".join(reader.said)
    assert proof in said
    assert "script" not in reader.open
    assert "<script" not in text
    assert "table" in text
    assert not re.search(r"#[0-9a-f]{3}|background: (?!transparent)|[^-]color: (?!inherit)", text)  # the page's own


def test_long_tables_are_cut():
    wide = linsep.separation(np.eye(60), np.arange(60) % 2)
    assert "and 37 more" in wide._repr_html_()
    assert wide._repr_html_().count("<tr>") == 25
