"""The matplotlib plots show the numbers of the result, and its HTML escapes text."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import to_rgb, to_rgba
from sklearn.exceptions import NotFittedError

from spinlearn import TemperatureRule
from spinlearn.answers.labels import outcome_name
from spinlearn.answers.rule import Status
from spinlearn.classifier import PottsClassifier
from spinlearn.errors import InvalidInputError
from spinlearn.io.result import Result
from spinlearn.viz import palette
from spinlearn.viz.explorer import explorer_content
from spinlearn.viz.pictures import CROSS, PLUS, Pictures, _groups
from tests.explorer_cases import many_points, three_blocks


class Drawn(Pictures):
    """Pictures of an answer that no classifier made."""

    def __init__(self, case):
        self.case = case

    def _pictured(self):
        return self.case.content.answer, None, {"points": self.case.content.layouts[0].coordinates}


@pytest.fixture(scope="module")
def case():
    return three_blocks()


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_profile_draws_the_marginals(case):
    axis, answer = case.result.plot_profile(100), case.content.answer
    finite = np.isfinite(answer.profile.temperatures)
    for state, container in enumerate(axis.containers[:2]):
        x, y = container.lines[0].get_data()
        np.testing.assert_allclose(y, answer.equilibrium.marginals[:, 100, state])
        np.testing.assert_allclose(x[finite], answer.profile.temperatures[finite])
    assert axis.get_title("left").startswith("point 100: ")
    assert [t.get_text() for t in axis.get_xticklabels()][-1] == "∞"
    axis.figure.canvas.draw()


def test_plots_use_the_given_axes(case):
    _, axes = plt.subplots(1, 3)
    assert case.result.plot_profile(-1, ax=axes[0]) is axes[0]
    assert case.result.plot_phases(ax=axes[1]) is axes[1]
    assert case.result.plot_map(0.3, pixels=np.zeros((237, 2)), ax=axes[2]) is axes[2]
    assert len(plt.get_fignums()) == 1


def test_phases_draw_susceptibility_and_heat_capacity(case):
    axis, answer = case.result.plot_phases(), case.content.answer
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axis.get_lines()}
    np.testing.assert_allclose(lines["susceptibility"], answer.grid_phases.susceptibility / 237)
    heat = answer.equilibrium.heat_capacity
    np.testing.assert_allclose(lines["heat capacity"], heat / heat.max())
    names = axis.get_legend_handles_labels()[1]
    assert {"super-paramagnetic", "paramagnetic", "T* = 0.55"} <= set(names)


def drawn(axis):
    """Places of the points of a map."""
    return np.concatenate([c.get_offsets().data for c in axis.collections])


def in_order(places):
    return places[np.lexsort(places.T)]


@pytest.mark.parametrize("temperature", [None, 0.0, 0.42, 1.6, np.inf])
def test_map_draws_every_point_once(case, temperature):
    expected = case.content.layouts[0].coordinates
    axis = case.result.plot_map(temperature, coordinates=expected)
    np.testing.assert_array_equal(in_order(drawn(axis)), in_order(expected))
    axis.figure.canvas.draw()


def test_pixels_are_drawn_as_squares_in_their_places(case):
    places = case.content.layouts[0].coordinates
    axis = case.result.plot_map(pixels=np.column_stack([-places[:, 1], places[:, 0]]))
    squares = [c for c in axis.collections if isinstance(c, PolyCollection)]
    middles = [p.vertices[:4].mean(axis=0) for c in squares for p in c.get_paths()]
    np.testing.assert_allclose(in_order(np.array(middles)), in_order(places), atol=1e-12)
    low, high = axis.get_ylim()
    assert low <= places[:, 1].min() - 0.5
    assert high >= places[:, 1].max() + 0.5
    axis.figure.canvas.draw()


def test_outliers_and_confused_points_have_marks_of_their_own(case):
    found = case.content.answer.profile
    row = int(np.argwhere(found.status == Status.OUTLIER)[-1, 0])
    groups = _groups(found.outcomes, case.result.classes_, found.confused_sets)
    marker = {group.name: group.marker for group in groups}
    assert (marker["confused"], marker["outlier"]) == (CROSS, PLUS)
    places = case.content.layouts[0].coordinates
    axis = case.result.plot_map(float(found.temperatures[row]), coordinates=places)
    assert "outlier" in legend(axis)
    assert f"{np.sum(found.status[row] == Status.OUTLIER)} outlier" in axis.get_title("left")


def test_two_features_are_the_map_and_rows_of_a_result_keep_their_layout(case):
    X = np.random.default_rng(0).normal(size=(30, 2))
    rule = TemperatureRule(grid=[0.1, 0.5])
    fitted = PottsClassifier(temperature=rule).fit(X, [0, 1] + [-1] * 28)
    ids = [str(k) for k in range(30)]
    given, own = Result.of(fitted, ids, layout=-X), Result.of(fitted, ids)
    for of, expected in ((fitted, X), (given, -X), (own, X)):
        np.testing.assert_array_equal(in_order(drawn(of.plot_map())), in_order(expected))


def test_every_class_is_seen_on_a_map_of_many_points():
    case = many_points(4_000, n_temperatures=5)
    figure = Drawn(case).plot_map().figure
    figure.set_dpi(80)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    for state in range(8):
        colour = 255 * np.array(to_rgb(palette.class_colour(state)))
        assert np.sum(np.abs(pixels - colour).max(axis=2) < 40) > 200, f"class {state}"


def test_all_profiles_are_one_picture_of_the_calls(case):
    axis = case.result.plot_profile()
    found, row = case.content.answer.profile, case.content.answer.row
    (image,) = (c for c in axis.collections if isinstance(c, QuadMesh))
    names, outcomes = axis.get_legend_handles_labels()[1], found.outcomes
    colours = np.asarray(image.get_array())
    assert colours.shape == (237, 19, 4)
    at_answer = colours[:, row]
    for code in range(3):  # two classes and a new one
        colour = to_rgb(palette.class_colour(code))
        here = np.all(np.isclose(at_answer[:, :3], colour), axis=1)
        assert np.sum(here) == np.sum(outcomes[row] == code)
        assert np.ptp(np.flatnonzero(here)) == np.sum(here) - 1  # in one block
        assert outcome_name(code, case.result.classes_, found.confused_sets) in names
    assert {"confused", "outlier", "T* = 0.55"} <= set(names)
    grey = np.all(np.isclose(colours[:, 0], to_rgba(palette.NEUTRAL)), axis=1)
    assert np.sum(grey) == np.sum(outcomes[0] < 0) > 0
    axis.figure.canvas.draw()


def test_markers_of_all_profiles_lie_on_their_call(case):
    axis = case.result.plot_profile()
    (image,) = (c for c in axis.collections if isinstance(c, QuadMesh))
    colours, edges = np.asarray(image.get_array()), image.get_coordinates()[0, :, 0]
    for state, marks in enumerate(axis.collections[:2]):  # the named classes
        assert len(marks.get_offsets()) > 20
        for temperature, height in marks.get_offsets():
            column = np.searchsorted(edges, temperature) - 1
            colour = colours[int(height), column, :3]
            np.testing.assert_allclose(colour, to_rgb(palette.class_colour(state)))


def test_sampled_and_many_points_and_a_single_temperature_are_drawn_too(monkeypatch):
    case = many_points(300, n_temperatures=5)
    bars = Drawn(case).plot_profile(5).containers[0].lines[2][0].get_segments()
    reach = [(b[1, 1] - b[0, 1]) / 2 for b in bars]  # standard errors
    np.testing.assert_allclose(reach, case.result.equilibrium.std_error[:, 5, 0], atol=1e-9)
    monkeypatch.setattr("spinlearn.viz.pictures.MAX_ROWS", 50)
    axis = Drawn(case).plot_profile(name="many $points")
    assert axis.get_ylim() == (300, 0)
    assert axis.get_title("left") == r"many \$points"
    axis.figure.canvas.draw()
    alone = PottsClassifier(method="paper", temperature=TemperatureRule(grid=[0.3]))
    axis = alone.fit(np.arange(8.0)[:, None], [0, 1] + [-1] * 6).plot_profile()
    assert [t.get_text() for t in axis.get_xticklabels()] == ["0.3"]


def test_a_stored_result_draws_what_the_classifier_draws(case, tmp_path):
    Result.of(case.result, list(case.content.ids)).save(tmp_path / "model.npz")
    stored = Result.load(tmp_path)
    lines = [of.plot_profile(100).containers[0].lines[0] for of in (stored, case.result)]
    np.testing.assert_array_equal(*(line.get_ydata() for line in lines))
    stored.plot_profile().figure.canvas.draw()
    stored.plot_phases().figure.canvas.draw()
    places = case.content.layouts[0].coordinates
    maps = [drawn(which.plot_map(coordinates=places)) for which in (stored, case.result)]
    np.testing.assert_array_equal(*maps)
    page = stored.explore(tmp_path / "a.html", coordinates=places).read_bytes()
    case.result.explore(tmp_path / "b.html", ids=case.content.ids, coordinates=places)
    assert page == (tmp_path / "b.html").read_bytes()


def test_a_result_knows_labels_that_the_data_may_overrule(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.array([5, 7] + [-1] * 28)
    fitted = PottsClassifier(label_noise=0.2, temperature=TemperatureRule(grid=[0.1, 0.5, np.inf]))
    fitted.fit(X, y)
    result = Result.of(fitted, [str(k) for k in range(30)])
    result.save(tmp_path / "model.npz")
    for which in (result, Result.load(tmp_path)):
        assert which.labels.tolist() == [0, 1] + [-1] * 28
        shown = explorer_content(which, components=which.components).layouts
        assert [layout.name for layout in shown] == ["neighbours", "PCA"]
    with pytest.raises(InvalidInputError, match="there are 1 ids for 30 points"):
        Result.of(fitted, ["a"])


def test_points_of_a_result_are_named_by_id_or_row(case):
    result = Result.of(case.result, [f"cell{k}" for k in range(237)])
    for point in ("cell100", 100, -137):
        assert result.plot_profile(point).get_title("left").startswith("point cell100: ")
    with pytest.raises(InvalidInputError, match="an id such as 'cell0' or a row number from 0 to"):
        result.plot_profile("cell237")
    for point in (237, -238, 1.5, "a"):
        with pytest.raises(InvalidInputError, match="is none of the 237 points"):
            case.result.plot_profile(point)


def legend(axis):
    return [entry.get_text() for entry in axis.get_legend().get_texts()]


def test_names_are_shown_as_they_are():
    """No mathematics, and an underscore in front hides nothing."""
    X = np.arange(30.0)[:, None]
    y = [r"$\foo$", "_hidden", "two\nlines", "x" * 60, *[""] * 26]
    rule = TemperatureRule(name=0.1, grid=[0.1, 0.5])
    fitted = PottsClassifier(method="paper", temperature=rule).fit(X, y)
    shown = {r"\$\foo\$", " _hidden", "two lines", "x" * 39 + "…"}
    for axis in (fitted.plot_profile(3, name="$\\bad$"), fitted.plot_profile(), fitted.plot_map()):
        axis.figure.canvas.draw()
        assert shown <= set(legend(axis))


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_many_classes_leave_room_for_the_picture():
    X = np.arange(120.0)[:, None]
    y = np.where(np.arange(120) % 2, -1, np.arange(120) // 2)
    fitted = PottsClassifier(temperature=TemperatureRule(name=0.1, grid=[0.1, 0.5])).fit(X, y)
    for axis in (fitted.plot_profile(3), fitted.plot_profile(), fitted.plot_map()):
        axis.figure.canvas.draw()
        assert len(legend(axis)) < 25
        assert "and 44 more classes" in legend(axis)
        box = axis.get_legend().get_window_extent()
        assert box.y0 >= 0
        assert box.x1 <= axis.figure.bbox.x1
    assert {"1", "2"} <= set(legend(fitted.plot_profile(3)))  # its likely classes


def test_unfitted_has_no_picture(tmp_path):
    for draw in ("plot_profile", "plot_phases", "plot_map", "explore"):
        with pytest.raises(NotFittedError):
            getattr(PottsClassifier(), draw)(*([tmp_path / "a.html"] if draw == "explore" else []))
