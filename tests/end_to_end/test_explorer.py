"""The explorer in a real headless Chromium: what a person sees and does."""

import csv
import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import make_blobs

from spinlearn import TemperatureRule
from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.classifier import PottsClassifier
from spinlearn.model.phases import phases
from spinlearn.viz.explorer import explorer_content, write_explorer
from tests.end_to_end.browser import complaints, painted, requests_made, screen
from tests.end_to_end.tool import until
from tests.explorer_cases import NASTY, doubted, hidden_class, many_points, three_blocks
from tests.slowness import slowness

webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
ActionChains, Keys = webdriver.ActionChains, webdriver.Keys
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:selenium")]

SET_ROW = """
const slider = document.getElementById('slider');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input', { bubbles: true }));
return window.spinlearnExplorer.settled();
"""
# Reads from a copy: reading the page's own canvas would make the browser treat it differently.
COLOUR_AT = """
const { map, placeOf } = window.spinlearnExplorer;
const [x, y] = placeOf(arguments[0]);
// By default beside the middle, where the shape of the class is.
const [right, down] = (arguments[1] || [-0.4, -0.4]).map((share) => share * map.transform().cell);
const canvas = document.createElement('canvas');
canvas.width = canvas.height = 1;
const ctx = canvas.getContext('2d', { willReadFrequently: true });
const scale = window.devicePixelRatio;
const [left, top] = [x + right, y + down].map((v) => Math.round(v * scale));
ctx.drawImage(document.getElementById('map'), left, top, 1, 1, 0, 0, 1, 1);
const rgb = [...ctx.getImageData(0, 0, 1, 1).data].slice(0, 3);
return '#' + rgb.map((v) => v.toString(16).padStart(2, '0')).join('').toUpperCase();
"""
REPAINTS = """
const done = arguments[arguments.length - 1];
const explorer = window.spinlearnExplorer;
const slider = document.getElementById('slider');
const copy = document.createElement('canvas');
const ctx = copy.getContext('2d', { willReadFrequently: true });
const times = [];
let row = 0;
function step() {
  const began = performance.now();
  slider.value = row % explorer.data.nRows;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => {
    // Reading a copy waits until the picture is painted, not only ordered.
    ctx.drawImage(document.getElementById('map'), 0, 0);
    ctx.getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
    row += 5;
    if (times.length < 30) step();
    else done(times);
  });
}
requestAnimationFrame(step);
"""


@pytest.fixture(scope="module")
def blocks():
    return three_blocks()


def show(driver, path, *, dark=False):
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
    downloads = {"behavior": "allow", "downloadPath": str(path.parent)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
    driver.get_log("performance"), driver.get_log("browser")  # those of the page before
    driver.get(path.as_uri())
    until(lambda: driver.execute_script("return document.documentElement.dataset.ready") == "true")


def busy_seconds(driver):
    """Time that the processor has worked for the page so far."""
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(entry["value"] for entry in found if entry["name"] == "TaskDuration")


def map_sizes(driver):
    """(height, width) the map has room for, and those it is drawn in."""
    high, wide, drawn_high, drawn_wide = driver.execute_script("""
    const [frame, canvas] = ['map-frame', 'map'].map((id) => document.getElementById(id));
    const scale = window.devicePixelRatio;
    return [frame.clientHeight, frame.clientWidth, canvas.height / scale, canvas.width / scale];
    """)
    return (high, wide), (drawn_high, drawn_wide)


def settle(driver):
    """Waits for the frame in which the map takes the room it has."""
    until(lambda: np.abs(np.diff(map_sizes(driver), axis=0)).max() <= 1)


def text(driver, css):
    return driver.find_element("css selector", css).text


def labels_csv(driver):
    """What a click on the download would write."""
    return driver.execute_script("return window.spinlearnExplorer.labelsCsv()")


def over_point(driver, point):
    """The mouse on its way to a point."""
    settle(driver)
    canvas = driver.find_element("id", "map")
    x, y = driver.execute_script("return window.spinlearnExplorer.placeOf(arguments[0])", point)
    right, down = round(x - canvas.size["width"] / 2), round(y - canvas.size["height"] / 2)
    return ActionChains(driver).move_to_element_with_offset(canvas, right, down)


def touch(driver, kind, *places):
    """A touch event with a finger at each place."""
    points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
    driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def press(driver, *keys):
    ActionChains(driver).send_keys(*keys).perform()
    painted(driver)


@pytest.fixture
def page(driver, blocks, tmp_path):
    """The explorer of the three blocks, freshly opened; in the end no complaint, no request."""
    path = write_explorer(tmp_path / "report.html", blocks.content)
    show(driver, path)
    yield driver
    assert complaints(driver) == []
    assert requests_made(driver) == [path.as_uri()]


def test_the_network_log_and_the_console_are_watched(driver, tmp_path):
    """The twin of the checks above: a page that does ask and does complain is caught."""
    bad, asks = tmp_path / "bad.html", "<img src='http://127.0.0.1:9/x.png'>"
    bad.write_text(f"<html data-ready=true>{asks}<script>nope()</script>")
    show(driver, bad)
    until(lambda: "http://127.0.0.1:9/x.png" in requests_made(driver))
    assert any("nope" in line for line in complaints(driver))


def test_slider_recolours_the_map(page, blocks):
    found = blocks.content.answer.profile
    # A pixel that is a class when cold and part of the new class at the answer.
    answer = blocks.content.answer.row
    new = found.outcomes[answer] >= found.n_classes
    point = int(np.flatnonzero((found.outcomes[0] < 2) & (found.outcomes[0] >= 0) & ~new)[-1])
    third = int(np.flatnonzero(new)[40])
    before = page.execute_script(COLOUR_AT, third)
    page.execute_script(SET_ROW, 0)
    assert text(page, "#now") == "T = 0"
    assert page.execute_script(COLOUR_AT, third) != before
    named = ("#0072B2", "#E69F00")
    assert page.execute_script(COLOUR_AT, point) == named[found.outcomes[0, point]]
    # The keys do the same, wherever the focus is.
    for _ in range(answer):
        press(page, Keys.ARROW_RIGHT)
    assert page.execute_script(COLOUR_AT, third) == before
    assert page.execute_script("return document.getElementById('slider').value") == str(answer)


def test_input_in_a_burst_is_painted_once_as_it_stands_in_the_end(page, blocks):
    last = len(blocks.content.answer.profile.temperatures) - 1
    burst = """
    const { map, settled } = window.spinlearnExplorer;
    const slider = document.getElementById('slider');
    const own = map.paint;
    let paints = 0;
    map.paint = function (...given) { paints++; return own.apply(this, given); };
    for (let k = 0; k < 40; k++) {
      slider.value = k % 2 ? arguments[0] : 0;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }
    return settled().then(() => paints);
    """
    assert page.execute_script(burst, last) == 1
    assert text(page, "#now") == "T = ∞"
    assert text(page, "#selection h2") == "Calls at T = ∞"


def test_the_tip_tells_the_call_and_a_click_the_profile_and_the_neighbours(page, blocks):
    content = blocks.content
    row = content.answer.row
    point = int(np.flatnonzero(content.answer.profile.status[row] == 1)[10])
    table = blocks.table(row)
    line = dict(zip(table.columns, table.rows[point], strict=True))
    over_point(page, point).perform()
    until(lambda: page.find_element("id", "tip").is_displayed())
    said = f"{line['call']} · {line['status']} · confidence {float(line['confidence']):.2f}"
    assert text(page, "#tip") == f"{content.ids[point]}\n{said}"
    over_point(page, point).click().perform()
    assert text(page, "#point-id") == content.ids[point]
    assert text(page, "#point-outcome") == line["call"]
    assert text(page, "#point-status") == line["status"] == "confident"
    here = content.answer.profile.temperatures[row]
    (span,) = [i for i in content.answer.profile.intervals(point) if i.low <= here <= i.high]
    assert text(page, "#point-range") == f"{span.low:.6g} ≤ T ≤ {span.high:.6g}"
    confidence = page.find_element("id", "point-confidence")
    assert confidence.text == f"confidence {float(line['confidence']):.2f}"
    assert "probability" in confidence.get_attribute("title")
    best = max(float(line["p:<b>left</b>"]), float(line["p:right"]))
    assert f"{best:.3f}" in text(page, "#point-bars")
    graph, agreed = content.answer.graph, content.answer.equilibrium.edge_agreement[row]
    here = slice(graph.indptr[point], graph.indptr[point + 1])
    links = zip(graph.neighbors[here], agreed[graph.edge_ids[here]], strict=True)
    agreement = {content.ids[i]: pytest.approx(value, abs=0.008) for i, value in links}
    rows = page.find_elements("css selector", "#point-neighbours tbody tr")
    cells = [[td.text for td in each.find_elements("tag name", "td")][:3] for each in rows]
    assert {name: float(value) for name, _, value in cells} == agreement
    assert {float(weight) for _, weight, _ in cells} == {1.0}  # of pixels
    # The profile chart is drawn in the colours of both classes.
    colours = page.execute_script(
        "const c = document.querySelector('#selection .layers canvas');"
        "const o = document.createElement('canvas'); o.width = c.width; o.height = c.height;"
        "const x = o.getContext('2d', { willReadFrequently: true }); x.drawImage(c, 0, 0);"
        "const d = x.getImageData(0, 0, c.width, c.height).data;"
        "const seen = new Set();"
        "for (let i = 0; i < d.length; i += 4) seen.add(d[i] + ',' + d[i+1] + ',' + d[i+2]);"
        "return [seen.has('0,114,178'), seen.has('230,159,0')];"
    )
    assert colours == [True, True]
    # A neighbour is one click away, Esc leaves.
    rows[0].find_element("tag name", "button").click()
    assert text(page, "#point-id") in agreement
    press(page, Keys.ESCAPE)
    assert not page.find_elements("id", "point-id")


def test_a_group_that_became_small_is_still_counted(driver, tmp_path):
    X, _ = make_blobs(150, centers=5, cluster_std=1.5, random_state=4)
    grid = np.linspace(0, 1, 8)
    rule = TemperatureRule(grid=grid, small_groups="new")
    fitted = PottsClassifier(method="paper", temperature=rule).fit(X, np.full(150, -1))
    outcomes = fitted.profile_.outcomes
    sizes = np.array([np.sum(outcomes == code, axis=1) for code in range(outcomes.max() + 1)])
    code, small = np.argwhere((sizes > 0) & (sizes < 3) & (sizes.max(axis=1) >= 3)[:, None])[0]
    large = int(np.argmax(sizes[code]))
    show(driver, fitted.explore(tmp_path / "report.html"))
    driver.execute_script(SET_ROW, large)
    driver.find_element("css selector", f"#legend button[data-code='{code}']").click()
    for row in (large, int(small)):
        driver.execute_script(SET_ROW, row)
        assert text(driver, "#group-size") == str(sizes[code, row])
        assert text(driver, "#selection figure .value") == str(sizes[code, row])
        listed = driver.find_elements("css selector", "#group-members button")
        members = np.flatnonzero(outcomes[row] == code)
        assert [int(button.text) for button in listed] == members.tolist()


def test_outliers_have_a_name_a_mark_and_a_card(page, blocks):
    found = blocks.content.answer.profile
    row, point = np.argwhere(found.status == Status.OUTLIER)[-1].tolist()
    page.execute_script(SET_ROW, row)
    places = ([0, 0], [0.2, 0], [0.2, 0.2])
    middle, arm, corner = (page.execute_script(COLOUR_AT, point, place) for place in places)
    assert middle == arm == "#8C8C8C" != corner  # a plus
    over_point(page, point).click().perform()
    assert text(page, "#point-outcome") == text(page, "#point-status") == "outlier"
    assert text(page, "#point-confidence") == "confidence 0.50"
    count = int(np.sum(found.status[row] == Status.OUTLIER))
    chips = page.find_elements("css selector", "#legend button")
    next(chip for chip in chips if chip.text.startswith("outlier")).click()
    assert text(page, "#selection h2").startswith("Outlier ")
    assert text(page, "#group-size") == str(count)
    filters = page.find_elements("css selector", "#filters button")
    assert [f.text.split() for f in filters][-1] == ["outlier", str(count)]
    press(page, "3")
    shown = [c.text for c in page.find_elements("css selector", "#legend .chip")]
    assert shown == list(STATUS_NAMES)


def test_confidence_is_the_second_colouring(page, blocks):
    content = blocks.content
    modes = page.find_elements("css selector", "#colour-by button")
    assert [m.text for m in modes] == ["Call", "Confidence", "Status"]
    press(page, "2")
    assert [m.get_attribute("aria-checked") for m in modes] == ["false", "true", "false"]
    assert " ".join(text(page, "#legend").split()) == "confidence 0 1"
    row = content.answer.row
    confident = np.flatnonzero(content.answer.profile.status[row] == Status.CONFIDENT)
    order = confident[np.argsort(content.confidence[row, confident])][::12]
    assert np.ptp(content.confidence[row, order]) > 0.2
    colours = [to_rgb(page.execute_script(COLOUR_AT, point)) for point in order.tolist()]
    light = 255 * np.array(colours) @ [0.299, 0.587, 0.114]
    assert np.all(np.diff(light) >= 0)  # the surer, the brighter
    assert light[-1] > light[0] + 20


def test_calls_come_before_the_curves_and_every_temperature_shows_its_phase(page, blocks):
    content = blocks.content
    found = phases(content.answer.equilibrium).phases
    assert len(set(found)) > 1
    for row, phase in enumerate(found):
        page.execute_script(SET_ROW, row)
        assert text(page, "#phase-now") == phase.value
    cards = page.find_elements("css selector", "aside > .card")
    assert [c.get_attribute("id") for c in cards] == ["selection", "overview"]
    assert cards[0].location["y"] < cards[1].location["y"]
    for row in (content.answer.row, 0):
        page.execute_script(SET_ROW, row)
        names = [r[1] for r in blocks.table(row).rows]
        rows = page.find_elements("css selector", "#calls button")
        listed = [button.text.split("\n") for button in rows]
        assert {name for name, *_ in listed} == set(names)
        for name, size, confidence in listed:
            members = np.array(names) == name
            assert int(size) == members.sum()
            judged = members & (content.answer.profile.status[row] != Status.LABELLED)
            expected = content.confidence[row, judged if judged.any() else members].mean()
            assert float(confidence) == pytest.approx(expected, abs=0.0051)
    rows[1].click()
    assert text(page, "#group-name") == "right"
    page.find_element("css selector", ".close").click()
    assert page.find_elements("css selector", "#calls button")


def calls_of(driver):
    """Calls of the answer as the page has them, with the sizes that it tells."""
    calls = np.array([r["call"] for r in csv.DictReader(io.StringIO(labels_csv(driver)))])
    buttons = driver.find_elements("css selector", "#calls button")
    told = {name: int(size) for name, size, _ in (b.text.split("\n") for b in buttons)}
    assert told == dict(zip(*np.unique(calls, return_counts=True), strict=True))
    return calls


def test_groups_that_may_be_a_class_are_told_named_and_refused(driver, tmp_path):
    def click(key):
        driver.find_element("css selector", f"[data-key='{key}']").click()

    hidden = hidden_class()
    answer = hidden.content.answer
    show(driver, write_explorer(tmp_path / "report.html", hidden.content))
    table = hidden.table(hidden.content.answer.row).csv()
    assert labels_csv(driver) == table
    first, second = answer.proposals[:2]
    heads = driver.find_elements("css selector", "#proposals .proposal-head")
    assert len(heads) == len(answer.proposals)
    said = text(driver, "#proposals")
    told = [f"{first.name} {len(first.points)} points, otherwise part of {first.beside}",
            f"{100 * first.probability:.0f} %", first.apart_text()[1:], first.features_text(),
            f"wine{first.typical[0]}"]  # fmt: skip
    assert all(words in said for words in told)
    # A click shows the members, those of a group without a call of its own too.
    click(f"see{second.name}")
    inside = "return [...window.spinlearnExplorer.state.proposal.inside.keys()]" \
        ".filter((i) => window.spinlearnExplorer.state.proposal.inside[i])"  # fmt: skip
    assert driver.execute_script(inside) == second.points.tolist()
    assert second.apart_text()[1:] in text(driver, "#proposals")
    click(f"see{second.name}")
    # It is a class: it has a name at once, which can be taken back.
    before = calls_of(driver)
    assert set(before[first.points]) == {"new:1"}
    click("asknew:1")
    press(driver, "tarball", Keys.ENTER)
    after = calls_of(driver)
    assert np.array_equal(after == "tarball", before == "new:1")
    assert 'spinlearn accept ANSWER new:1 "tarball" --out ANSWER2' in text(driver, "#proposals")
    click("undonew:1")
    assert np.array_equal(calls_of(driver), before)
    # It is none: its points have their most probable named class.
    click("rejectnew:1")
    after = calls_of(driver)
    assert np.array_equal(after[before != "new:1"], before[before != "new:1"])
    assert np.array_equal(after, np.where(before == "new:1", answer.forced_labels, before))
    assert "spinlearn reject ANSWER new:1 --out ANSWER2" in text(driver, "#proposals")
    click("undonew:1")
    assert labels_csv(driver) == table
    # A group inside another is a class with all its members.
    click(f"see{second.name}")
    click(f"ask{second.name}")
    press(driver, "it's $1", Keys.ENTER)
    after = calls_of(driver)
    assert np.flatnonzero(after == "it's $1").tolist() == second.points.tolist()
    assert f"accept ANSWER {second.name} 'it'\\''s $1' --out" in text(driver, "#proposals")
    assert complaints(driver) == []


def test_the_top_says_how_far_to_trust_the_answer(driver, blocks, tmp_path):
    case = many_points(300, n_temperatures=5)
    row = case.content.answer.row
    content = doubted(case, [0, row]).content
    show(driver, write_explorer(tmp_path / "doubted.html", content))
    lines = [p.text for p in driver.find_elements("css selector", "#notice p")]
    expected = [content.answer.warning, content.answer.headline(), *content.answer.remarks()]
    assert lines == [line[0].upper() + line[1:] + "." for line in expected]
    first, note = driver.find_elements("css selector", "#notice p")[:2]
    assert first.value_of_css_property("color") != note.value_of_css_property("color")
    assert text(driver, "#warning") == lines[0]
    driver.execute_script(SET_ROW, 0)
    assert "at T = 0 standard errors of probabilities reach 0.4" in text(driver, "#warning")
    driver.execute_script(SET_ROW, row + 1)
    assert not driver.find_element("id", "warning").is_displayed()
    assert driver.find_elements("css selector", "#notice p")[0].text == lines[0]
    # A run that is trusted warns of single temperatures only. A preference for dark is followed.
    show(driver, write_explorer(tmp_path / "trusted.html", case.content), dark=True)
    assert driver.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert not driver.find_elements("css selector", "#notice .distrust")
    driver.execute_script(SET_ROW, 0)
    assert "did not reach the accuracy" in text(driver, "#warning")
    # The answer at T = 0 is a cut, and the page says so.
    cut = explorer_content(blocks.content.answer.at(0))
    show(driver, write_explorer(tmp_path / "cut.html", cut))
    assert "T = 0: this is the minimum cut" in text(driver, "#notice")
    assert "Exact by junction_tree" in text(driver, "#notice")


def test_the_keyboard_is_not_thrown_out_of_the_panel(page, blocks):
    def focused():
        return page.execute_script(
            "const at = document.activeElement;"
            "return [document.getElementById('selection').contains(at), at.textContent, at.id]"
        )

    press(page, "/")
    press(page, "p1", *[Keys.ARROW_DOWN] * 11)
    assert len(page.find_elements("css selector", "#results li")) == 12
    list_end, item_end = page.execute_script(
        "return ['#results', '#results [aria-selected=true]'].map("
        "(css) => document.querySelector(css).getBoundingClientRect().bottom)"
    )
    assert item_end <= list_end  # what is chosen stays in sight
    press(page, Keys.ESCAPE)
    press(page, "/")
    press(page, blocks.content.ids[100], Keys.ENTER)
    assert text(page, "#point-id") == blocks.content.ids[100]
    assert focused()[2] == "map"
    link = "#point-neighbours button"
    page.execute_script(f"document.querySelector('{link}').focus()")
    wanted = text(page, link)
    press(page, Keys.ARROW_RIGHT)  # another temperature
    assert focused()[:2] == [True, wanted]
    press(page, Keys.ENTER)
    assert text(page, "#point-id") == wanted
    assert focused()[:2] == [True, f"Point {wanted}"]
    press(page, Keys.TAB, Keys.ENTER)  # the cross
    assert not page.find_elements("id", "point-id")
    assert focused()[0]
    page.find_element("id", "go-answer").click()
    assert focused()[2] == "go-answer"


def test_fingers_move_and_zoom_the_map_and_other_buttons_do_nothing(page):
    def view():
        return page.execute_script("return window.spinlearnExplorer.map.view")

    canvas = page.find_element("id", "map")
    ActionChains(page).context_click(canvas).perform()
    assert not page.find_elements("id", "point-id")
    box = page.execute_script("return document.getElementById('map').getBoundingClientRect()")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, reach in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80)):
        touch(page, kind, (x - reach, y), (x + reach, y))
    touch(page, "touchEnd")
    spread = view()
    assert spread["zoom"] == pytest.approx(2, rel=0.1)
    assert max(abs(spread["x"]), abs(spread["y"])) < 3
    for kind, way in (("touchStart", 0), ("touchMove", 30), ("touchMove", 50)):
        touch(page, kind, (x + way, y + way))
    touch(page, "touchCancel")
    moved = view()
    assert moved["x"] > spread["x"] + 20
    ActionChains(page).move_to_element_with_offset(canvas, 60, 60).perform()
    assert view() == moved
    assert not page.find_elements("id", "point-id")


def test_a_swipe_over_a_curve_scrolls_and_leaves_the_temperature(driver, blocks, tmp_path):
    with screen(driver, 380, 700, mobile=True):
        show(driver, write_explorer(tmp_path / "report.html", blocks.content))
        curve = driver.find_element("css selector", "#curves .layers")
        driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", curve)
        box = driver.execute_script("return arguments[0].getBoundingClientRect()", curve)
        x, y = box["x"] + 40, box["y"] + 20
        first = text(driver, "#now")
        touch(driver, "touchStart", (x, y))  # a tap picks
        touch(driver, "touchEnd")
        until(lambda: text(driver, "#now") != first)
        before, began = text(driver, "#now"), driver.execute_script("return scrollY")
        touch(driver, "touchStart", (x + 200, y))
        for step in range(1, 9):
            touch(driver, "touchMove", (x + 200, y + 20 * step))
        touch(driver, "touchEnd")
        until(lambda: driver.execute_script("return scrollY") < began - 50)
        assert text(driver, "#now") == before


def test_filter_theme_and_keys(page, blocks):
    page.execute_script("document.activeElement.blur()")
    # Every control is reached by Tab.
    seen = []
    for _ in range(40):
        press(page, Keys.TAB)
        seen.append(page.execute_script("return document.activeElement.id"))
    order = ["search", "download", "theme", "help", "zoom-in", "map", "play", "slider"]
    assert [name for name in dict.fromkeys(seen) if name in order] == order
    page.execute_script("document.activeElement.blur()")
    # Filter: without confident points the colour of a confident one is gone.
    row = blocks.content.answer.row
    point = int(np.flatnonzero(blocks.content.answer.profile.status[row] == 1)[10])
    shown = page.execute_script(COLOUR_AT, point)
    confident = page.find_elements("css selector", "#filters button")[1]
    assert "confident" in confident.text
    confident.click()
    assert page.execute_script(COLOUR_AT, point) != shown
    assert confident.get_attribute("aria-pressed") == "false"
    confident.click()
    assert page.execute_script(COLOUR_AT, point) == shown
    # Colour by confidence, light and dark.
    press(page, "2")
    assert page.execute_script(COLOUR_AT, point) != shown
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.execute_script(ground)
    press(page, "d")
    assert page.execute_script(ground) != light
    for key, temperature in ((Keys.HOME, "0"), (Keys.END, "∞"), ("t", "0.55")):
        press(page, key)
        assert text(page, "#now") == f"T = {temperature}"


def test_points_are_picked_by_keys_alone(page, blocks):
    def walk(arrow):
        ActionChains(page).key_down(Keys.SHIFT).send_keys(arrow).key_up(Keys.SHIFT).perform()
        painted(page)
        return place_of[text(page, "#point-id")]

    places = blocks.content.layouts[0].coordinates
    place_of = dict(zip(blocks.content.ids, map(tuple, places), strict=True))
    press(page, Keys.ENTER)  # not on the map
    assert not page.find_elements("id", "point-id")
    page.execute_script("document.getElementById('map').focus()")
    press(page, Keys.ENTER)
    x, y = place_of[text(page, "#point-id")]
    assert np.hypot(*((x, y) - (places.min(axis=0) + places.max(axis=0)) / 2)) < 3
    before = text(page, "#now")
    steps = [(Keys.ARROW_UP, (0, 1)), (Keys.ARROW_RIGHT, (1, 0)), (Keys.ARROW_DOWN, (0, -1))]
    for arrow, (dx, dy) in steps * 2:  # pixels adjoin there
        assert walk(arrow) == (x + dx, y + dy), arrow
        x, y = x + dx, y + dy
    for _ in range(30):
        end = walk(Keys.ARROW_LEFT)
    assert end[0] == 0  # the leftmost; there it stays
    assert text(page, "#now") == before
    press(page, Keys.ESCAPE)
    assert not page.find_elements("id", "point-id")


def test_a_change_of_room_takes_away_no_button(page):
    """What is about to be clicked stays: only pictures are drawn anew."""
    chip = page.find_element("css selector", "#legend button")
    entry = page.find_element("css selector", "#selection button")
    page.execute_script("arguments[0].focus()", chip)
    before, _ = map_sizes(page)
    with screen(page, 700, 800):
        until(lambda: map_sizes(page)[0] != before)
        settle(page)
        assert page.switch_to.active_element == chip
        entry.click()
        chart = page.find_element("css selector", "#selection .layers canvas")
        member = page.find_element("css selector", "#group-members button")
        drawn = chart.size["width"]
    until(lambda: chart.size["width"] != drawn)
    settle(page)
    chosen = member.text
    member.click()
    assert text(page, "#point-id") == chosen


def test_hostile_ids_and_names_are_text(page, blocks):
    assert text(page, "h1") == page.title == "<i>blocks</i> & {{data}}"
    for point in (0, 1):
        press(page, "/")
        press(page, NASTY[point][:12], Keys.ENTER)
        assert text(page, "#point-id") == NASTY[point]
    assert page.execute_script("return window.pwned") is None
    assert len(page.find_elements("tag name", "script")) == 2
    assert not page.find_elements("css selector", "img, #legend b b, #selection i")
    chips = [c.text for c in page.find_elements("css selector", "#legend .name")]
    assert "<b>left</b>" in chips


def test_download_is_labels_csv(page, blocks, tmp_path):
    answer = blocks.content.answer.row
    page.find_element("id", "download").click()
    until(lambda: (tmp_path / "labels.csv").exists())
    assert (tmp_path / "labels.csv").read_bytes() == blocks.table(answer).csv().encode()
    for row in (0, answer + 3, len(blocks.content.answer.profile.temperatures) - 1):
        page.execute_script(SET_ROW, row)
        told = "viz/page/table.js writes another table than Answer.table"
        assert labels_csv(page) == blocks.table(row).csv(), told


def test_twenty_thousand_points_repaint_in_100_ms_of_work(driver, tmp_path):
    large = many_points(20_000)
    path = write_explorer(tmp_path / "report.html", large.content)
    assert path.stat().st_size < 20e6
    show(driver, path)
    driver.execute_async_script(REPAINTS)  # the first round draws the marks
    before = busy_seconds(driver)
    times = driver.execute_async_script(REPAINTS)
    assert len(times) == 30
    # Of the page's own thread, all that follows in a frame included, which is about as much
    # again: what else the machine does makes no difference, what its processor is does.
    assert 0 < (busy_seconds(driver) - before) / len(times) < 0.15 * slowness()
    row = large.content.answer.row
    driver.execute_script(SET_ROW, row)
    assert labels_csv(driver) == large.table(row).csv()
    over_point(driver, 7).click().perform()
    assert "±" in text(driver, "#point-bars")
    assert complaints(driver) == []
    assert requests_made(driver) == [path.as_uri()]


def test_sampled_display_says_so_and_downloads_all_points(driver, tmp_path, monkeypatch):
    monkeypatch.setattr("spinlearn.viz.explorer.MAX_POINTS", 500)
    case = many_points(3_000, n_temperatures=5)
    path = write_explorer(tmp_path / "report.html", case.content)
    show(driver, path)
    assert driver.execute_script("return window.spinlearnExplorer.data.n") <= 500
    assert "500 of 3,000 points" in text(driver, "#notice")
    assert labels_csv(driver) == case.table(case.content.answer.row).csv()
    note = "all 3,000 points at T*, elsewhere the 500 on display"
    assert text(driver, "#download-note") == note
    before, _ = map_sizes(driver)
    driver.execute_script(SET_ROW, 0)
    assert len(labels_csv(driver).splitlines()) == 501
    counts = [b.text for b in driver.find_elements("css selector", "#filters b")]
    assert sum(int(c.replace(",", "")) for c in counts) == 3_000
    # A warning has appeared, and the map keeps its shape in the room that is left.
    assert driver.find_element("id", "warning").is_displayed()
    assert map_sizes(driver)[0] != before
    settle(driver)
    # A narrow window does not scroll sideways.
    with screen(driver, 320, 800):
        show(driver, path)
        for row in (0, case.content.answer.row):
            driver.execute_script(SET_ROW, row)
            root = "document.documentElement"
            assert driver.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")


@pytest.mark.parametrize(
    ("X", "y", "temperatures"),
    [
        (np.zeros((1, 1)), [-1], [0.5]),  # one point, no label, one temperature
        (np.arange(6.0)[:, None], [0] + 5 * [-1], [0.0, np.inf]),  # one class
        (np.eye(9, 4) + [0, 0, 0, 1], ["a"] + 7 * [""] + ["b"], [0.4]),  # equal points
        (np.arange(3.0)[:, None], ["a", "b", "c"], [np.inf]),  # all labelled, nothing finite
    ],
)
def test_degenerate_results_open_without_complaint(driver, tmp_path, X, y, temperatures):
    result = PottsClassifier(temperature=TemperatureRule(grid=temperatures)).fit(X, y)
    show(driver, result.explore(tmp_path / "report.html"))
    for row in range(len(temperatures)):
        driver.execute_script(SET_ROW, row)
        assert len(labels_csv(driver).splitlines()) == len(X) + 1
    over_point(driver, 0).click().perform()
    assert text(driver, "#point-id") == "0"
    assert complaints(driver) == []
