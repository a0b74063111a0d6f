"""The explorer's file without a browser: self-contained, escaped, packed without loss."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spinlearn import TemperatureRule
from spinlearn.answers.rule import Status
from spinlearn.classifier import PottsClassifier
from spinlearn.errors import InvalidInputError
from spinlearn.viz.explorer import (
    SCRIPTS,
    _page,
    explorer_content,
    explorer_payload,
    packed,
    page_html,
    points_on_display,
)
from spinlearn.viz.palette import STATUS_LOOKS
from tests.explorer_cases import NASTY, hidden_class, many_points, three_blocks


def explorer_html(content):
    return page_html(content.title, explorer_payload(content))


class Outline(HTMLParser):
    """Elements with attributes, and the text of the scripts."""

    def __init__(self):
        super().__init__()
        self.elements, self.scripts, self._in_script = [], [], False

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self._in_script = True

    def handle_endtag(self, tag):
        if tag == "script":
            self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data


def outline(html):
    page = Outline()
    page.feed(html)
    return page


def test_policy_allows_this_script_and_nothing_from_outside():
    html = explorer_html(three_blocks().content)
    page = outline(html)
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    (policy,) = [a["content"] for t, a in page.elements if a.get("http-equiv")]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    for _, attributes in page.elements:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
        assert not any(name.startswith("on") for name in attributes)
    assert "http://" not in html
    assert "https://" not in html


def test_the_page_builds_no_html_from_text():
    for name in SCRIPTS:
        source = _page(f"{name}.js")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in source, (name, word)
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|import\(", source)


def test_every_status_has_a_look_and_the_page_numbers_them_alike():
    assert list(STATUS_LOOKS) == list(Status), "enter the status in STATUS_LOOKS of viz/palette.py"
    told = re.search(r"^const (LABELLED = .*);$", _page("marks.js"), re.MULTILINE)[1]
    numbers = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", told)}
    expected = {status.name: status.value for status in Status}
    assert numbers == expected, "number the status in viz/page/marks.js, too"


ELEMENTS = outline(page_html("title", {})).elements


@given(st.text(), st.lists(st.text(), max_size=3) | st.text())
@example("<i>blocks</i> & {{data}}", list(NASTY))
def test_hostile_text_adds_no_element_and_embedded_data_never_end_theirs(title, value):
    page = outline(page_html(title, {"text": value}))
    assert page.elements == ELEMENTS
    assert json.loads(page.scripts[0]) == {"text": value}
    assert not re.search(r"[<>&\u2028\u2029]", page.scripts[0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32])
@pytest.mark.parametrize("shape", [(0, 2), (1, 3), (4, 5, 2), (3, 0)])
def test_packed_arrays_come_back(dtype, shape):
    rng = np.random.default_rng(0)
    low = -1000 if dtype == np.int32 else 0
    values = rng.integers(low, 250, shape).astype(dtype)
    np.testing.assert_array_equal(unpacked(packed(values)), values)


def unpacked(item):
    """The inverse of `packed`, as the page computes it."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(item["data"])), np.uint8)
    dtype = np.dtype(item["type"])
    array = np.ascontiguousarray(planes.reshape(dtype.itemsize, -1).T).view(dtype)
    array = array.reshape(item["shape"])
    return array if dtype.kind == "f" else np.cumsum(array, axis=0, dtype=dtype)


def test_the_page_holds_the_confidence_of_every_call():
    content = three_blocks().content
    data = json.loads(outline(explorer_html(content)).scripts[0])
    assert (data["title"], data["classes"]) == (content.title, ["<b>left</b>", "right"])
    answer = content.answer
    held = unpacked(data["arrays"]["confidence"]) / data["stepsPerUnit"]
    np.testing.assert_allclose(held, content.confidence, atol=0.5e-4 + 1e-12)
    np.testing.assert_allclose(held[answer.row], answer.confidence, atol=0.5e-4 + 1e-12)
    for row, groups in enumerate(data["groups"]):
        for code, size, percent in groups["listed"]:
            members = content.answer.profile.outcomes[row] == code
            assert size == members.sum()
            # Given labels are certain and would hide what the method made of the others.
            judged = members & (content.answer.profile.status[row] != Status.LABELLED)
            expected = content.confidence[row, judged if judged.any() else members].mean()
            assert percent == pytest.approx(100 * expected, abs=0.51)


def test_the_most_typical_points_are_on_display(monkeypatch):
    monkeypatch.setattr("spinlearn.viz.explorer.MAX_POINTS", 30)
    content = hidden_class().content
    shown = points_on_display(content)
    assert len(shown) < len(content.ids)
    for one in content.answer.proposals:
        assert np.all(np.isin(one.typical, shown))


def test_a_path_where_no_page_can_be_is_refused_before_any_work(tmp_path, monkeypatch):
    result = fitted(LINE, [0] + [-1] * 14 + [1])
    monkeypatch.setattr("spinlearn.viz.pictures.explorer_content", lambda *_: pytest.fail("worked"))
    with pytest.raises(InvalidInputError, match=r"no folder .*absent: name a file"):
        result.explore(tmp_path / "absent" / "x.html")
    with pytest.raises(InvalidInputError, match=r"is a folder: name a file .*report\.html"):
        result.explore(tmp_path)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InvalidInputError, match="closed to you"):
        result.explore(tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


def test_sample_keeps_labelled_points_and_rare_groups(monkeypatch):
    def sample(most):
        monkeypatch.setattr("spinlearn.viz.explorer.MAX_POINTS", most)
        return points_on_display(content)

    content = many_points(4_000, n_temperatures=5).content
    decision = content.answer.decision
    shown = sample(600)
    assert len(shown) == 600
    assert np.all(np.diff(shown) > 0)
    assert np.all(np.isin(np.flatnonzero(decision.status == Status.LABELLED), shown))
    for outcome in range(len(content.classes)):
        members = np.flatnonzero(decision.outcomes == outcome)
        assert np.sum(np.isin(members, shown)) >= min(len(members), 10)
    np.testing.assert_array_equal(shown, sample(600))
    assert len(sample(4_000)) == 4_000
    for few in (1, 2, 17):
        assert 1 <= len(sample(few)) <= few


def test_many_classes_show_fewer_points(monkeypatch):
    content = many_points(1_500, n_temperatures=5).content
    monkeypatch.setattr("spinlearn.viz.explorer.FEWEST", 100)
    monkeypatch.setattr("spinlearn.viz.explorer.MAX_VALUES", 5 * 8 * 300)
    assert len(points_on_display(content)) == 300


def fitted(X, y, **settings):
    return PottsClassifier(temperature=TemperatureRule(grid=[0.0, 0.4, 1.0]), **settings).fit(X, y)


LINE = np.concatenate([np.linspace(0, 1, 8), np.linspace(3, 4, 8)])[:, None]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ids": ["a"]}, "1 ids for 16 points"),
        ({"coordinates": np.zeros((3, 2))}, r"coordinates must be .* of shape \(16, 2\)"),
        ({"coordinates": np.full((16, 2), np.nan)}, "coordinates must be finite"),
        ({"pixels": [["a", "b"]] * 16}, "pixels must be real numbers"),
        ({"points": np.zeros((3, 4))}, "there are 16 points"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        explorer_content(fitted(LINE, [0] + [-1] * 14 + [1]).answer_, **wrong)
