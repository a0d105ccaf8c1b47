"""The report: what it says, and how it looks in a real browser, on a wide screen and on a phone."""

import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp

from browser import chromium, needs_chromium
from linsep import largest_margin, mistake_bound, report, teacher
from linsep.pages.reporting import study

SECTIONS = ["summary", "verdict", "fewest", "run", "bound", "margins", "unseen", "regression", "weights", "terms"]


def toy():
    X, y, _ = teacher(120, 2, margin=0.08, offset=0.2, random_state=3)
    return X, np.where(y > 0, "yes", "no")


def exclusive_or():
    return np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 5), np.array([0, 0, 1, 1] * 5)


def three():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.standard_normal((40, 3)) + c for c in ([0, 0, 0], [9, 0, 0], [0, 9, 0])])
    return X, np.repeat(["a & b", "<c>", "d"], 40)


def words(n=4000, d=30_000):
    """Sparse counts, wide and separable by one column."""
    rng = np.random.default_rng(2)
    X = sp.random_array((n, d), density=5e-4, rng=rng, format="csr", data_sampler=lambda size: rng.integers(1, 5, size))
    y = rng.integers(0, 2, n)
    X = sp.hstack((sp.csr_array(4 * (2 * y[:, None] - 1)), X), format="csr")
    return X, y


CASES = {"toy": toy, "exclusive or": exclusive_or, "three": three, "words": words}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write the report of every case once."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, data in CASES.items():
        path = folder / f"{name}.html"
        html = report(*data(), path, title=f"Report on {name} & <more>")
        assert path.read_text() == html
        found[name] = (path, html)
    assert not plt.get_fignums()  # no figure is left open
    return found


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [1200, 375])
def test_a_browser_shows_it(pages, browser, name, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name][0].as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
    assert page.title() == f"Report on {name} & <more>"
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out sideways
    images = page.evaluate(
        "[...document.images].map(i => [i.complete, i.naturalWidth, i.clientWidth, i.clientHeight, i.alt.length])"
    )
    assert len(images) >= (2 if name == "exclusive or" else 4)  # there the run comes back to w = 0: no plane
    for complete, natural, shown, height, described in images:
        assert complete
        assert natural > 100
        assert height > 100
        assert described > 10
        assert 0.7 * min(width, 544) < shown <= width  # figures fill a phone and do not overflow it
    sizes = page.evaluate(
        "[...document.querySelectorAll('p, dd, td, figcaption')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 13  # readable without zooming
    absent = {"exclusive or": [], "three": ["regression", "fewest"]}.get(name, ["fewest"])
    wanted = [each for each in SECTIONS if each not in absent]
    assert page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)") == wanted
    page.close()


class _Text(HTMLParser):
    """Collects text, and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        for _, value in attrs:
            assert not (value or "").startswith(("http:", "https:", "//")), value
        if tag not in ("meta", "img", "br", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open:
            self.text.append(data)


def text(html):
    """Return what a reader reads."""
    parser = _Text()
    parser.feed(html)
    assert parser.open == []
    return re.sub(r"\s+", " ", " ".join(parser.text))


def test_it_says_what_the_functions_say(pages):
    X, y = toy()
    found = study(
        X, y, fit_intercept=True, feature_names=None, delta=0.05, test_size=0.2, time_limit=600, random_state=0
    )
    said = text(pages["toy"][1])
    bound = mistake_bound(X, y)
    assert found.bound.mistakes == bound.mistakes
    assert found.audit.holds
    assert f"at most {bound.mistakes:,} mistakes" in said
    assert f"{found.model.mistakes_} mistakes in {found.model.n_iter_} passes" in said
    assert f"{largest_margin(X, y).upper:.6g}" in said
    assert "Separable: a plane has every row strictly on its side" in said
    assert found.verdict.check(X, y)
    assert "every step holds" in said
    assert f"no ({np.count_nonzero(y == 'no')}), yes ({np.count_nonzero(y == 'yes')})" in said
    assert found.split[0].shape == (96, 2)
    assert not set(map(tuple, found.split[0])) & set(map(tuple, found.split[2]))
    assert found.unseen.compression.applies  # in fixed order its premise holds
    for name in ("compression", "held-out rows", "margin"):
        assert name in said.lower()


def test_runs_keep_to_the_time_limit():
    """Passes are cut off by their work, not by a clock: 10,000 rows of 10 columns take about 0.35 ms a pass."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 10)), rng.integers(0, 2, 10_000)
    found = study(X, y, time_limit=0.01)
    assert found.model.max_iter == found.trained.max_iter == 2
    assert found.verdict.kind in ("unknown", "overlap")  # the search may be fast enough


def test_a_run_that_refuted_its_rows_is_proof_where_the_search_has_no_time():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 3, 300)
    rows = np.concatenate((X, X[:9])), np.concatenate((y, (y[:9] + 1) % 3))  # the same row in two classes
    found = study(*rows, time_limit=0.01)
    assert found.model.stop_reason_ == "not_separable"
    assert found.verdict.kind in ("not-separable", "overlap")  # the search may be fast enough
    assert found.verdict.check(*rows, plain=True)


def test_what_takes_too_long_is_refused_before_it_begins():
    X = sp.csr_array((np.ones(60_000), np.arange(60_000) % 9, np.arange(60_001)), (60_000, 9))
    with pytest.raises(ValueError, match=r"^60,000 rows and 30,000 classes take about 1.8 s a pass: .*time_limit=20"):
        study(X, np.arange(60_000) // 2, time_limit=3)


def test_rows_that_contradict_each_other_are_listed(pages):
    said = text(pages["exclusive or"][1])
    assert "Not separable: every plane has rows on the wrong side, or all rows on it." in said
    assert "4 rows contradict each other" in said
    table = re.search(r"<section id=\"verdict\">.*?</section>", pages["exclusive or"][1], re.S)[0]
    assert table.count("<tr>") == 5
    assert "mistakes never end" in said


def section(html, name):
    return text(re.search(rf"<section id=\"{name}\">.*?</section>", html, re.S)[0])


def test_coefficients_without_a_finite_estimate_are_named(pages):
    X = np.array([[0, 2], [1, 5], [0, 4], [1, 3], [0, 6], [0, 1]] * 2)
    y = np.array(["no", "yes", "yes", "yes", "yes", "no"] * 2)
    y[8] = "no"  # the same point as row 2: without a dose the classes overlap
    said = section(report(X, y, feature_names=["dose", "<age>"]), "regression")
    assert "Quasi-complete separation: the maximum likelihood estimate does not exist." in said
    assert "dose is +infinity: all 4 rows with dose = 1 have the label = yes" in said
    assert re.search(r"dose\s+\+inf", said)
    assert "The response is yes against no." in said
    assert "the maximum likelihood estimate exists" in section(pages["exclusive or"][1], "regression")
    assert "linsep regression says it of every coefficient" in section(pages["words"][1], "regression")
    assert 'id="regression"' not in pages["three"][1]


def test_rows_that_stand_in_the_way_are_listed(pages):
    X, y, _ = teacher(80, 2, margin=0.2, random_state=3)
    X, labels = np.round(X, 3), np.where(y > 0, "yes", "no")
    flipped = [5, 17, 40]
    labels[flipped] = np.where(labels[flipped] == "yes", "no", "yes")
    html = report(X, labels)
    said = section(html, "fewest")
    assert "3 of 80 rows are wrong under the best plane ; linsep proved that no plane has fewer errors." in said
    listed = re.findall(r"<tr><td>([\d,]+)</td>", re.search(r"<section id=\"fewest\">.*?</section>", html, re.S)[0])
    assert sorted(map(int, listed)) == flipped
    assert "5 of 20 rows" in section(pages["exclusive or"][1], "fewest")  # one of four points, five copies each
    assert 'id="fewest"' not in pages["toy"][1]


def test_without_an_offset_planes_go_through_the_origin():
    said = text(report([[1.0], [2.0], [3.0], [4.0]] * 3, ["a", "a", "b", "b"] * 3, fit_intercept=False))
    assert "Not separable through the origin: every plane through the origin has rows on the wrong side" in said
    assert "A plane with an offset may still separate the rows." in said
    assert "No plane through the origin separates these rows" in said
    assert "they add up to exactly 0. A plane through the origin" in said


def test_every_margin_is_named(pages):
    X, y = toy()
    summary = text(re.search(r"<section id=\"summary\">.*?</section>", pages["toy"][1], re.S)[0])
    affine, augmented = (f"{largest_margin(X, y, form=form).upper:.6g}" for form in ("affine", "augmented"))
    assert re.search(rf"largest margin, affine\s+{affine}.*: the distance from a plane .*, as people draw it", summary)
    assert re.search(rf"largest margin, augmented\s+{augmented}.*: the same for the points \(x, 1\)", summary)
    assert summary.index("affine") < summary.index("augmented")


def test_names_and_labels_are_escaped(pages):
    assert "a &amp; b" in pages["three"][1]
    assert "&lt;c&gt;" in pages["three"][1]
    assert "<c>" not in pages["three"][1]
    html = report(*toy(), feature_names=["<i>", "b"])
    assert "&lt;i&gt;" in html


def test_wide_sparse_rows_stay_light(pages, monkeypatch):
    X, y = words()
    monkeypatch.setattr(sp.csr_array, "toarray", None)  # whoever makes them dense fails
    monkeypatch.setattr(sp.csr_array, "todense", None)
    html = report(X, y)
    assert len(html) < 3e6
    said = text(pages["words"][1])
    assert "30,001 features" in said
    assert "does not search for the largest margin" in said
    assert "every step holds" in said


def test_the_page_is_the_same_from_run_to_run(pages):
    again = report(*toy(), title="Report on toy & <more>")
    times = r"<footer>.*</footer>|<script type=.*?</script>|href=\S+"  # the proof says when it was made
    without_times = [re.sub(times, "", html, flags=re.S) for html in (pages["toy"][1], again)]
    assert without_times[0] == without_times[1]


def test_frames_bring_their_names():
    pd = pytest.importorskip("pandas")
    X, y = toy()
    html = report(pd.DataFrame(X, columns=["height", "weight"]), y)
    assert "height" in text(html)


def test_bad_input_is_said():
    with pytest.raises(ValueError, match="only one class"):
        report([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="test_size"):
        report(*toy(), test_size=1.5)
    assert "too few rows" in text(report([[0.0], [1.0]], [0, 1])).lower()
