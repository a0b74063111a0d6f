"""Tables as people have them: what becomes a feature, what does not, and that it is said."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.workflows.fitting import Fitting

N = 30
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "lab": ["A", "B"] + [""] * (N - 2),
        "a": RNG.normal(size=N).round(3),
        "b": RNG.integers(0, 9, N),
    }
)
RINGS = RNG.choice(10**6, N, replace=False)
DAYS = pd.date_range("2024-02-27", periods=N).astype(str)
ISLANDS = [("Dream", "Biscoe", "Torgersen")[k % 3] for k in range(N)]
GAPPY = FRAME.assign(b=FRAME.b.astype(float))
GAPPY.loc[[3, 7], "a"] = np.nan
GAPPY.loc[7, "b"] = np.nan


@pytest.fixture(params=["csv", "parquet"])
def written(request, tmp_path):
    """How to write a frame and read it again, as either kind of table."""

    def read(frame: pd.DataFrame, **options):
        path = tmp_path / f"d.{request.param}"
        frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
        return read_dataset(path, ReadOptions(labels="lab", **options))

    return read


def said(data, start: str) -> str:
    """The one note that begins so."""
    (note,) = [n for n in data.notes if n.startswith(start)]
    return note


TWICE = np.concatenate([RINGS[1:2], RINGS[1:]])
USED = [
    (FRAME[["lab", "a"]].assign(ring=RINGS, weight=RINGS[::-1]), "'ring', 'weight'", "if one only"),
    (FRAME.assign(ring=TWICE, weight=RINGS.astype(float)), "'ring'", "numbers that hardly repeat"),
    (FRAME[["lab"]].assign(x=np.arange(N)), "'x'", "as there is little else"),
]


@pytest.mark.parametrize(("frame", "columns", "reason"), USED)
def test_numbers_that_may_be_serial_are_used_with_a_note(written, frame, columns, reason):
    """There is little else, or they repeat, or were measured (written 3.0)."""
    data = written(frame)
    assert data.feature_names == frame.columns[1:].tolist()
    assert reason in said(data, f"used {columns}")


def dates(form: str, start: str = "2019-11-27", freq: str = "23D") -> list[str]:
    """Dates in some form, one of them twice, so that they are no serial number."""
    days = pd.date_range(start, periods=N, freq=freq).strftime(form)
    return [*days[:-1], days[0]]


YEARS = [2007.0 + k % 3 if k else np.nan for k in range(N)]
CODES = RNG.integers(1000, 1009, N)
GAP = pd.Series(RINGS, dtype="Int64").where(np.arange(N) != 4)  # pandas writes 7.0 for 7 then
LEFT_OUT = [
    ("ring", RINGS, "as serial numbers and years are"),
    *[("ring", GAP.astype(kind), "as serial numbers") for kind in ("Int64", "float64")],
    *[
        ("nr", np.arange(k, k + N).astype(t), "it counts")
        for k in (0, 1, 1000)
        for t in (int, float)
    ],
    ("ring", np.arange(1990, 1990 + N)[::-1], "as serial numbers and years are"),
    ("ring", np.arange(N)[::-1], "as serial numbers and years are"),
    ("ring", [str(10**17 + k) for k in range(N)], "as serial"),  # the same as floats
    ("serial", RNG.permutation(N).astype(float), ""),  # without a gap between them
    *[(name, CODES, "its name calls ids") for name in ("patient_id", "sampleId", "zip", "Phone")],
    *[
        ("when", np.array(dates(form)).astype(int), "numbers that are dates or months")
        for form in ("%Y%m", "%d%m%Y", "%m%d%Y")
    ],
    *[("Timestamp", unit * (1.7e9 + RNG.random(N) * 1e6), "") for unit in (1, 1000)],
    *[(name, YEARS, "years") for name in ("year", "Year of capture", "Erntejahr", "birth_yr")],
]


@pytest.mark.parametrize(("name", "values", "reason"), LEFT_OUT)
def test_numbers_that_measure_nothing_are_no_feature_unless_named(written, name, values, reason):
    frame = FRAME.assign(**{name: values})
    for how in ("error", "drop"):  # gaps of such columns are none of the features
        data = written(frame, missing=how)
        assert data.feature_names == ["a", "b"]
        assert len(data.ids) == N
    assert reason in said(data, f"left out {name!r}: ")
    assert written(frame, features=("a", name), missing="drop").feature_names == ["a", name]


def test_numbers_of_another_name_or_of_few_rows_are_features(written):
    for values, *names in (
        (CODES, "amyloid", "rapid", "identity", "zipper"),
        (CODES + 990, "yearly_rainfall", "light_years"),
        (1.7e9 + RNG.random(N) * 1e6, "light"),
        (YEARS, "weight"),
    ):
        for name in names:
            data = written(FRAME.assign(**{name: values}), missing="drop")
            assert data.feature_names == ["a", "b", name]
    assert written(FRAME.assign(ring=RINGS)[:8]).feature_names == ["a", "b", "ring"]


@pytest.mark.parametrize("measured", [False, True])
def test_many_columns_of_such_numbers_are_counts_unless_beside_measurements(written, measured):
    numbers = {f"g{k}": RNG.choice(10**5, N, replace=False) for k in range(4)}
    others = RNG.normal(size=(9, N)) if measured else RNG.integers(0, 9, (9, N))
    data = written(FRAME.assign(**numbers, **{f"f{k}": row for k, row in enumerate(others)}))
    assert len(set(numbers) & set(data.feature_names)) == (0 if measured else 4)
    start, reason = ("left out", "as serial") if measured else ("used", "if one only numbers the")
    assert reason in said(data, f"{start} 'g0', 'g1', 'g2', 'g3'")


COMMAS = FRAME.assign(a=[f"{x:.3f}".replace(".", ",") for x in FRAME.a])
MARKS = {
    "{}%": "percent signs", "$ {}": "signs of a currency", "{}€": "signs of a currency",
    "EUR {}": "signs of a currency", "$5,10{b}.00": "signs of a currency",
    "{} mm": "the unit 'mm'", "{0} {u}": "the units cm, mm", "{} mg/dL": "the unit 'mg/dL'",
    "1 00{b}": "separators of thousands", "1'00{b}": "separators of thousands",
    "1_00{b}": "separators of thousands", "<{}": "signs of comparison", "{}±0.1": "ranges of error",
    "({})": "brackets", "'{}": "apostrophes", "\u2212{b}.5": "dashes instead of minus signs",
}  # fmt: skip


def marked(form: str) -> pd.DataFrame:
    rows = enumerate(zip(FRAME.a, FRAME.b, strict=True))
    return FRAME.assign(a=[form.format(a, b=b, u=("mm", "cm")[k % 2]) for k, (a, b) in rows])


REFUSED = [
    (FRAME, {"features": ("a", "lab")}, "'lab' holds the labels"),
    (FRAME, {"missing": "guess"}, "use error or median or drop"),
    (FRAME, {"decimal": ";"}, r"--decimal ';' is unknown: use \. or ,"),
    (FRAME, {"neighbors": "second"}, r"not an \.h5ad file"),
    (GAPPY, {}, r"lacks 3 .*--missing median or --missing drop"),
    *[
        (GAPPY.assign(a=np.where(np.arange(N) == 5, np.inf, GAPPY.a)), {"missing": how},
         "not a finite number")
        for how in ("median", "drop", "error")
    ],
    *[
        (FRAME.assign(day=[DAYS[0], cell, *DAYS[2:]]), {"features": ("day",)},
         rf"'{cell}' in .* no day of the calendar")
        for cell in ("2024-02-30", "0000-00-00")
    ],
    (FRAME.assign(where=[f"place {chr(65 + k)}" for k in range(N)]), {"features": ("a", "where")},
     "30 different values in 30 rows: encode it"),
    *[  # all that can be learned from would be dropped
        (FRAME.assign(a=FRAME.a.mask((FRAME.lab == "") == (which == "without"))),
         {"features": ("a", "b"), "missing": "drop"},
         f"in all rows {which} a label.*--missing median")
        for which in ("with", "without")
    ],
    # Left out like words, a measure would be lost with a misleading reason.
    *[
        (marked(form), {}, rf"has {what} beside the numbers of column 'a'")
        for form, what in MARKS.items()
    ],
    (marked("5.10{b},00"), {}, "commas in the numbers of column 'a'"),
    *[
        (COMMAS.assign(a=[cell, *COMMAS.a[1:]]), {"decimal": ","}, "points in the numbers of col")
        for cell in ("1.5", "1.234,5", "1.234.567", ".5", "2.", "1.5e3")
    ],
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options", "message"), REFUSED)
def test_what_cannot_be_used_is_refused(written, frame, options, message):
    with pytest.raises(InvalidInputError, match=message):
        written(frame, **options)


LINES = [f"{lab},{a},{b}" for lab, a, b in FRAME.itertuples(index=False)]
WIDE = ",".join(f"c{k}" for k in range(20))


@pytest.mark.parametrize(
    ("name", "content", "labels", "message"),
    [
        *[("d.csv", [title, "", "lab,a,b", *LINES], "lab",
           "its heading in line 3, below 'Penguins of 2024'") for title in ("Penguins of 2024",
                                                                            "Penguins of 2024,,")],
        ("d.csv", ["lab,a,b", *(f"{k},{line}" for k, line in enumerate(LINES))], "lab",
         r"col\.names=NA"),  # as R writes a heading
        ("d.csv", [f"{WIDE},Species", "1," * 20 + "A"], "species", r"did you mean 'Species'\?"),
        ("d.csv", ["gene,s1,s2", "kind,A,B", "g1,1,2"], "kind",
         r"features as rows .*row is named 'kind'.*\.T"),
        ("d.csv", ["gene,s1,s2", "g1,1.5,2", "g2,3,4"], ["id,kind", "s1,A", "s2,B"],
         "'s1', which is one of its columns"),
        ("g.edges", ["a\tb\t1", "b\tc\t1_000"], ["id,kind", "a,x", "c,y"],
         "the weight '1_000' in line 2"),
        ("d.csv", ["a,plate", *(f"{k}.5,{k % 4}" for k in range(9))], ["plate,kind", "1,A", "2,B"],
         "both have a column 'plate'"),
        ("d.csv", ["a", *(f"{k}.5" for k in range(9))], ["kind", "A", "B"], "NA and no blank line"),
    ],
)  # fmt: skip
def test_files_of_another_form_are_recognised(tmp_path, name, content, labels, message):
    (tmp_path / name).write_text("\n".join(content), encoding="utf-8")
    options = ReadOptions(labels=labels) if isinstance(labels, str) else None
    if options is None:
        (tmp_path / "k.csv").write_text("\n".join(labels), encoding="utf-8")
        options = ReadOptions(labels_file=tmp_path / "k.csv")
    with pytest.raises(InvalidInputError, match=message):
        read_dataset(tmp_path / name, options)


def test_every_column_is_named_with_what_became_of_it(written):
    more = {f"m{k}": RNG.normal(size=N) for k in range(20)}
    remarks = [f"remark {k}" for k in range(N)]
    frame = FRAME.assign(ring=RINGS, note=remarks, empty=None, day=DAYS, where=ISLANDS, **more)
    data = written(frame)
    text = "\n".join(data.notes)
    for column in set(frame.columns) - {"lab"}:
        assert column in text
    assert " more" not in text
    assert said(data, "left out 'note'").endswith("text, with 30 different values in 30 rows")
    assert said(data, "left out 'empty'").endswith("it is empty")
    # Very many are named as ranges that hide none.
    genes = pd.DataFrame(RNG.normal(size=(N, 300)), columns=[f"g{k}" for k in range(300)])
    frame = pd.concat([FRAME, genes], axis=1)
    frame.insert(100, "remark", remarks)
    line = said(written(frame), "302 features: ")
    assert "a to g96 (the 99 columns from one to the other), g97 to g299 (the 203 columns" in line


ROUND = [*range(N - 1), 0]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (DAYS, np.arange(N)),
        *[
            (pd.date_range("2024-02-27", periods=N, freq="6h").strftime(form), np.arange(N) / 4)
            for form in ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+00:00")
        ],
        *[(dates(form, freq="D"), ROUND) for form in ("%Y%m%d", "%Y/%m/%d", "%Y.%m.%d")],
        (pd.to_datetime(pd.Series(DAYS)), np.arange(N)),
    ],
)
def test_dates_are_left_out_or_counted_in_days(written, days, expected):
    frame = FRAME.assign(day=days)
    assert "dates" in said(written(frame), "left out 'day'")
    data = written(frame, features=("a", "day"))
    np.testing.assert_allclose(data.points[:, 1], expected)
    assert "'day' is used as the number of days since its first date" in data.notes


@pytest.mark.parametrize(
    "date",
    [
        "01/02/2024", "1.2.24", "2024/1/2", "2024-02-30", "02/27/2024 14:05", "27-Feb-2024",
        "Feb 27, 2024", "27. February 2024",
    ],
)  # fmt: skip
def test_dates_that_may_be_read_in_two_ways_are_not_guessed(written, date):
    frame = FRAME.assign(day=[date] * N)
    note = said(written(frame), "left out 'day': dates")
    assert "beside the others, written as 2024-12-31" in note
    with pytest.raises(InvalidInputError, match="write them as 2024-12-31"):
        written(frame, features=("day",))


def test_a_value_far_from_all_others_is_named_but_not_a_long_tail(written):
    for value in (-999.0, 1e12):
        data = written(FRAME.assign(a=[value, value, *FRAME.a[2:]]))
        assert "if that stands for a missing value" in said(data, f"'a' is {value:g} in 2 rows")
    tails = {f"t{k}": np.exp(RNG.normal(size=N)) for k in range(20)}
    assert not [note for note in written(FRAME.assign(**tails)).notes if "far from" in note]


@pytest.mark.parametrize("elsewhere", [0.0, np.nan])
def test_a_column_that_tells_who_is_labelled_is_left_out(written, elsewhere):
    code = [1.0, 2.0] + [elsewhere] * (N - 2)
    data = written(FRAME.assign(code=code), missing="median")
    assert data.feature_names == ["a", "b"]
    assert "tells them apart" in said(data, "left out 'code'")
    assert "code" in written(FRAME.assign(code=[1.0] * (N - 1) + [0.0])).feature_names


@pytest.fixture(params=["table", "npy", "npz"])
def gaps(request, tmp_path, written):
    """How to read features with gaps, from a table or an array."""

    def read(how: str):
        if request.param == "table":
            return written(GAPPY, missing=how)
        X, y = GAPPY[["a", "b"]].to_numpy(), GAPPY.lab.to_numpy("U")
        path, options = tmp_path / f"d.{request.param}", {"missing": how, "labels": "y"}
        if request.param == "npz":
            np.savez(path, X=X, y=y)
        else:
            np.save(path, X)
            np.save(tmp_path / "y.npy", y)
            options |= {"labels_file": tmp_path / "y.npy"}
        return read_dataset(path, ReadOptions(**options))

    return read


def test_gaps_are_filled_with_the_median_or_their_rows_dropped(gaps):
    data, values = gaps("median"), GAPPY[["a", "b"]]
    np.testing.assert_allclose(data.points, values.fillna(values.median()).to_numpy())
    assert said(data, "filled 3 missing values with the median of their feature: ")
    data, whole = gaps("drop"), GAPPY.dropna(subset=["a", "b"])
    np.testing.assert_allclose(data.points, whole[["a", "b"]].to_numpy())
    assert data.ids == [str(k) for k in whole.index]
    assert [v or "" for v in data.labels] == whole.lab.tolist()
    assert said(data, "dropped 2 of 30 rows, which lack a value in ").endswith(": 3, 7")


def test_words_are_left_out_unless_named_and_become_columns_of_zero_and_one(written):
    frame = FRAME.assign(where=ISLANDS)
    plain = written(frame)
    assert plain.feature_names == ["a", "b"]
    assert "to use it one-hot" in said(plain, "left out 'where': words, 3 different ones")
    data = written(frame, features=("a", "where"))
    names = ["where=Biscoe", "where=Dream", "where=Torgersen"]
    assert data.feature_names == ["a", *names]
    np.testing.assert_array_equal(
        data.points[:, 1:], [[f"where={w}" == n for n in names] for w in ISLANDS]
    )
    note = said(data, "'where' is used as a column of 0 and 1 for each of its 3 values")
    assert note.endswith("'Biscoe', 'Dream', 'Torgersen'")
    points = Fitting(data).points  # all of them weigh as much as one number
    np.testing.assert_allclose(points[:, 0].var(), 1.0)
    np.testing.assert_allclose(points[:, 1:].var(axis=0).sum(), 1.0)
    assert said(data, "left out 'b'").endswith("not named with --features")
    two = FRAME.assign(sex=["f", "m"] * (N // 2))
    assert written(two, features=("a", "sex")).feature_names == ["a", "sex=m"]
    # An empty one is a gap.
    frame = FRAME.assign(where=["Dream", "Dream", "", *ISLANDS[3:]])
    with pytest.raises(InvalidInputError, match=r"lacks 1 feature values, .* column 'where'"):
        written(frame, features=("a", "where"))
    assert len(written(frame, features=("a", "where"), missing="drop").ids) == N - 1
    data = written(frame, features=("a", "where"), missing="median")  # the most frequent word
    assert data.points[2, 1:].tolist() == [0.0, 1.0, 0.0]  # Biscoe, Dream, Torgersen
    assert said(data, "filled 1 missing values")


def test_names_with_numbers_in_them_are_words(written):
    for names in ([f"{k}A" for k in range(N)], [f"P{k}" for k in range(N)]):
        assert "text, with 30" in said(written(FRAME.assign(plot=names)), "left out 'plot'")
    stages = [f"{k % 3 + 1}{'ab'[k % 2]}" for k in range(N)]
    assert "words, 6" in said(written(FRAME.assign(stage=stages)), "left out 'stage'")


@pytest.mark.parametrize("kind", [str, str.encode])
def test_underscores_make_no_numbers(tmp_path, kind):
    path = tmp_path / "d.parquet"
    FRAME.assign(a=[kind("1_000"), *(kind(str(a)) for a in FRAME.a[1:])]).to_parquet(path)
    with pytest.raises(InvalidInputError, match=r"1_000.* in row 0, counted from 0"):
        read_dataset(path, ReadOptions(labels="lab"))


def test_decimal_commas_are_decimal_points_if_one_says_so(written):
    day = [f"{k % 28 + 1:02}.11.2024" for k in range(N)]  # no numbers
    frame = COMMAS.assign(lab=["1,5", "2,5"] + [""] * (N - 2), key=[f"{k},0" for k in range(N)])
    data = written(frame.assign(day=day), decimal=",", id="key")
    np.testing.assert_array_equal(data.points, written(FRAME).points)
    assert list(data.labels[:2]) == ["1,5", "2,5"]  # labels and ids keep theirs
    assert data.ids[:2] == ["0,0", "1,0"]


def test_weights_may_have_decimal_commas(tmp_path):
    (tmp_path / "g.edges").write_text("a\tb\t0,5\nb\tc\t2\n", encoding="utf-8")
    (tmp_path / "k.csv").write_text("id,kind\na,x\nc,y\n", encoding="utf-8")
    options = ReadOptions(labels_file=tmp_path / "k.csv", decimal=",")
    data = read_dataset(tmp_path / "g.edges", options)
    np.testing.assert_array_equal(data.graph.weights, [0.5, 2.0])
    (tmp_path / "g.edges").write_text("a\tb\t0.5\nb\tc\t2\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"the weight '0\.5' in line 1"):
        read_dataset(tmp_path / "g.edges", options)


def test_features_as_rows_of_arrays_and_cells_are_recognised(tmp_path):
    np.savez(tmp_path / "g.npz", X=np.ones((5, 3)), y=["A", "B", ""])
    with pytest.raises(InvalidInputError, match=r"save X\.T instead of X"):
        read_dataset(tmp_path / "g.npz", ReadOptions())
    np.save(tmp_path / "g.npy", np.ones((5, 3)))
    np.save(tmp_path / "y.npy", np.array(["A", "B", ""]))
    with pytest.raises(InvalidInputError, match=r"numpy\.load\('g\.npy'\)\.T"):
        read_dataset(tmp_path / "g.npy", ReadOptions(labels_file=tmp_path / "y.npy"))
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.ones((3, 2)), obs=pd.DataFrame({"kind": list("ABA")}, list("pqr")))
    cells.T.write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InvalidInputError, match="var has 'kind', obs has not"):
        read_dataset(tmp_path / "c.h5ad", ReadOptions(labels="kind"))


def test_another_neighbour_graph_of_a_file_can_be_named(tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.eye(4), obs=pd.DataFrame({"kind": ["A", "B", "", ""]}, list("pqrs")))
    for key, strength in (("neighbors", 1.0), ("second", 2.0)):
        where = "connectivities" if key == "neighbors" else f"{key}_connectivities"
        cells.obsp[where] = strength * (1 - np.eye(4))
        cells.uns[key] = {"connectivities_key": where}
    path = tmp_path / "c.h5ad"
    cells.write_h5ad(path)
    plain = read_dataset(path, ReadOptions(labels="kind"))
    assert set(plain.graph.weights) == {1.0}
    assert "--neighbors second" in said(plain, "graph: ")
    other = read_dataset(path, ReadOptions(labels="kind", neighbors="second"))
    assert set(other.graph.weights) == {2.0}
    with pytest.raises(InvalidInputError, match="neighbors, second"):
        read_dataset(path, ReadOptions(labels="kind", neighbors="third"))


@pytest.mark.parametrize("name", ["g.csv", "g.tsv", "g.tsv.gz", "g.txt", "g.parquet"])
def test_the_remedy_for_genes_as_rows_works(tmp_path, monkeypatch, name):
    """What the error says is run as it stands; then the file is read."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    genes = pd.DataFrame(RNG.normal(size=(20, N)), index=[f"gene{k}" for k in range(20)])
    genes.columns = [f"cell{k}" for k in range(N)]
    if name.endswith("parquet"):
        genes.to_parquet(path)
    else:
        genes.rename_axis("gene").to_csv(path, sep="," if name == "g.csv" else "\t")
    pd.DataFrame({"cell": genes.columns, "kind": FRAME.lab}).to_csv("k.csv", index=False)
    options = ReadOptions(labels="kind", labels_file=tmp_path / "k.csv")
    with pytest.raises(InvalidInputError) as caught:
        read_dataset(path, options)
    remedy = str(caught.value).partition("for example by ")[2]
    command, _, rest = remedy.partition(", and say ")
    assert rest == "--id id"
    exec(command, {"pandas": pd})
    data = read_dataset(tmp_path / f"turned-{name}", replace(options, id="id"))
    np.testing.assert_allclose(data.points, genes.T)
    assert list(data.labels[:3]) == ["A", "B", None]


BIRDS = RNG.permutation(N) + 1


def test_labels_are_looked_up_by_a_column_that_both_files_have(tmp_path):
    """Rows would be counted otherwise, and these ids look like their numbers."""
    FRAME[["a"]].assign(bird=BIRDS).to_csv(tmp_path / "d.csv", index=False)
    np.savez(tmp_path / "d.npz", X=FRAME[["a"]], bird=BIRDS)
    labels = pd.DataFrame({"bird": BIRDS, "kind": FRAME.lab}).sort_values("bird")
    labels.to_csv(tmp_path / "k.csv", index=False)
    for name in ("d.csv", "d.npz"):
        data = read_dataset(tmp_path / name, ReadOptions(labels_file=tmp_path / "k.csv"))
        assert list(data.labels) == ["A", "B"] + [None] * (N - 2)
        assert data.ids == [str(b) for b in BIRDS]
        assert "are looked up by 'bird', which both files have" in said(data, "labels of")


def test_labels_that_go_with_dropped_rows_are_counted(written):
    frame = FRAME.assign(lab=["A", "B", "C", "B"] + [""] * (N - 4))
    frame.loc[2, "a"] = np.nan
    note = said(written(frame, missing="drop"), "dropped 1 of 30 rows")
    assert note.endswith("; 1 of them labelled, so that no label is left of C")


def read_text(path, *lines: str, **options):
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_dataset(path, ReadOptions(labels="lab", **options))


def test_cells_without_a_name_in_the_heading(tmp_path):
    path, lines = tmp_path / "d.csv", ["lab,a,b", *LINES]
    assert read_text(path, *(f"{line},,," for line in lines)).feature_names == ["a", "b"]
    with pytest.raises(InvalidInputError, match="several columns that hold something"):
        read_text(path, "lab,a,b,,", *(f"{line},1,2" for line in LINES))
    assert "no name in the heading" in said(read_text(path, "lab,a,", *LINES), "left out ''")


def test_the_delimiter_that_excel_is_told_and_a_byte_order_mark_are_understood(tmp_path):
    path = tmp_path / "d.csv"
    for first in ("sep=;", "SEP=;", '"sep=;"'):
        lines = [line.replace(",", ";") for line in (first, "lab,a,b", *LINES)]
        assert read_text(path, *lines).feature_names == ["a", "b"]
    path.write_bytes(("\ufeff" + "\n".join(["lab,a,b", *LINES])).encode("utf-16-le"))
    data = read_dataset(path, ReadOptions(labels="lab", encoding="utf-16-le"))
    assert data.feature_names == ["a", "b"]
