"""Verdicts follow from the numbers: each turns when its numbers do; no numbers, no verdict."""

import numpy as np
import pytest

from spinlearn.datasets import two_bands
from spinlearn.reproduction import claims
from spinlearn.reproduction.comparison import errors_by_panel

HOLDS, FAILS, UNCHECKED = True, False, None


def labelling(q, m, *, ours, n=1, cut=20, lgc=20, found=0, twin=None, paper=None, strict=None):
    """n cells, four temperatures: T* of our rule, the paper's, that read strictly, the best."""
    result = {
        "errors": [ours if e is None else e for e in (None, paper, strict, None)],
        "found": np.broadcast_to(found, 4).tolist(),
        "rows": {"information": 0, "paper": 1, "paper_strict": 2, "best": 3},
        "converged": [True] * 4,
        "worst_std_error": 0.0,
        "cut": cut,
        "lgc": lgc,
    }
    settings = {"kind": "labelling", "q": q, "M": m} | ({} if twin is None else {"twin": twin})
    return [{"settings": settings | {"labelling": k}, "result": result} for k in range(n)]


def test_without_cells_nothing_is_decided():
    undecided = claims.all_claims({})
    assert {c.verdict for c in undecided} == {"not yet checked"}
    assert [c.key for c in undecided][:8] == list("abcdefgh")


GOOD = labelling(2, 5, n=5, ours=22, paper=20, strict=21)
WORSE = labelling(2, 2, ours=20, paper=21)
LOST = labelling(2, 6, n=4, ours=5, cut=17, lgc=18, found=16)


def found(n, points):
    return labelling(2, 2, ours=5, n=n, found=points)


def wide(labels, cut):
    return labelling(3, labels, ours=10, cut=cut)


def hurt(share):
    best = {"settings": {"kind": "unsupervised"}, "result": {"best": 11}}
    return [best, *labelling(2, 2, n=share, ours=12), *labelling(2, 2, n=10 - share, ours=11)]


@pytest.mark.parametrize(
    ("claim", "cells", "verdict"),
    [
        # The paper's rule decides, neither ours nor the paper's read strictly.
        ("never_worse_than_cuts", {"fig4": GOOD}, HOLDS),
        ("never_worse_than_cuts", {"fig4": GOOD, "fig5": WORSE}, FAILS),
        ("third_class_found", {"fig5": found(3, 17) + found(2, 8)}, HOLDS),
        ("third_class_found", {"fig5": found(2, 17) + found(2, 8)}, FAILS),
        ("third_class_found", {"fig5": found(3, [0, 17, 0, 17])}, HOLDS),
        ("third_class_found", {"fig5": found(1, [17, 0, 17, 17])}, FAILS),
        ("methods_converge", {"fig4": wide(5, 30) + wide(20, 11)}, HOLDS),
        ("methods_converge", {"fig4": wide(5, 11) + wide(20, 30)}, FAILS),
        ("methods_converge", {"fig4": wide(5, 30)}, UNCHECKED),
        ("mll_lost_by_others", {"fig5": LOST}, HOLDS),
        ("mll_lost_by_others", {"fig5": LOST + labelling(2, 6, ours=5, cut=16)}, FAILS),
        ("labels_can_hurt", {"fig5": hurt(1)}, FAILS),
        ("labels_can_hurt", {"fig5": hurt(3)}, HOLDS),
        ("labels_can_hurt", {"fig5": hurt(5)}, FAILS),
    ],
)  # fmt: skip
def test_labellings_decide(claim, cells, verdict):
    assert getattr(claims, claim)(cells)[1] == verdict


def test_findings_tell_the_numbers():
    assert (
        "of 5 labellings more errors than GC in 5 with our T* rule, 0 with the paper's T* rule, 5 "
        "with the paper's rule read strictly"
    ) in claims.never_worse_than_cuts({"fig4": GOOD})[0]
    told = claims.third_class_found({"fig5": found(3, [0, 17, 0, 17])})[0]
    assert "M = 2: 0% at our T*, 100% at the paper's (0% read strictly)" in told
    assert "16.0 of 17 MLL" in claims.mll_lost_by_others({"fig5": LOST})[0]


def test_twins_tell_the_sampling_error_and_do_not_count_twice():
    cells = labelling(3, 5, ours=10, twin=0) + labelling(3, 5, ours=14, twin=1)
    cells += labelling(3, 20, ours=10, twin=0)
    finding, _ = claims.methods_converge({"fig4": cells})
    assert "1 repeated runs: median 4, largest 4" in finding
    np.testing.assert_array_equal(errors_by_panel(cells)[3, 5]["information"], [10])


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.5, 1.3, HOLDS), (0.5, 1.2, FAILS), (1.1, 1.3, FAILS)]
)
def test_phases_widen_at_both_ends(low, high, verdict):
    def interval(low, high):
        return [{"phase": "super-paramagnetic", "low": low, "high": high}]

    chain = {
        "temperatures": [0.5],
        "marginals": [[0.5] * 1360],
        "agreement": [[0.5] * two_bands().graph().n_edges],
        "exact_errors": [0],
        "worst_difference": [0.0],
        "converged": [True],
    }
    cells = [{"settings": {"kind": "multicanonical"}, "result": chain}]
    for labels, ends in ((True, (low, high)), (False, (1.0, 1.2))):
        result = {"phases": interval(*ends), "grain_phases": interval(1.0, 1.1)}
        cells.append({"settings": {"kind": "exact", "labels": labels}, "result": result})
    assert claims.labels_widen_phase(cells)[1] == verdict


def yeast_run(considered, *, considered_cut=0.2, converged=True):
    means = [{"mean": value, "by_class": [value] * 5} for value in (0.2, considered)]
    result = {
        "counts": {"genes": 1, "known": 1, "listed": 1, "both": 1, "test": 9},
        "temperatures": [0.0, 0.5],
        "success": means,
        "considered_success": means,
        "considered_cut": [{"mean": 0.2}, {"mean": considered_cut}],
        "argmax_success": means,
        "open": [{"confused": 0, "new": 0}, {"confused": 1, "new": 2}],
        "rows": {"information": 1, "paper": 0, "paper_strict": 0},
        "converged": [True, converged],
        "cut": {"mean": 0.2},
        "lgc": {"mean": 0.3},
    }
    return {"settings": {}, "result": result}


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([yeast_run(0.32)], HOLDS),
        ([yeast_run(0.19)], FAILS),
        ([yeast_run(0.32, considered_cut=0.33)], FAILS),  # on the same genes GC is better
        ([yeast_run(0.32), yeast_run(0.34)], HOLDS),
        ([yeast_run(0.2), yeast_run(0.44)], FAILS),  # 0.32 ± 0.12
    ],
)
def test_yeast_compares_with_cuts_on_the_same_genes(runs, verdict):
    assert claims.yeast_success(runs)[1] == verdict


def test_yeast_says_how_sure_it_is():
    finding, _ = claims.yeast_success([yeast_run(0.32, converged=False), yeast_run(0.34)])
    assert "ours 33.0% ± 1.0% and GC 20.0% ± 0.0% of the 7 test genes" in finding
    assert "above tolerance" in finding


@pytest.mark.parametrize(
    ("lgc", "ours", "verdict"), [(30, 1, HOLDS), (9, 1, FAILS), (30, 3, FAILS)]
)
def test_figure_1_is_decided_by_the_labels_selected_for_it(lgc, ours, verdict):
    errors = {
        7: {"cut": 60, "lgc": 2, "sgt": 2, "ncut": 40, "ours": 1},
        10: {"cut": 60, "lgc": lgc, "sgt": 30, "ncut": 40, "ours": ours},
    }
    cells = [
        {"settings": {"n_labels": k}, "result": {"errors": e, "n_points": 100, "temperature": 0.5}}
        for k, e in errors.items()
    ]
    finding, holds = claims.others_fail_on_filament(cells)
    assert holds == verdict
    assert "7 labels: cut 60, lgc 2" in finding


@pytest.mark.parametrize(
    ("plain", "generalised", "verdict"),
    [(0.5, 0.05, HOLDS), (0.05, 0.01, FAILS), (0.5, 0.2, FAILS)],
)
def test_only_generalised_messages_must_be_right(plain, generalised, verdict):
    chain = {"temperatures": [0.4], "worst_difference": [0.0], "converged": [True]}
    cells = [{"settings": {"kind": "multicanonical"}, "result": chain}]
    for engine, worst in (
        ("belief_propagation", [plain, 0.04, 0.0]), ("generalized_bp", [0.0, generalised, 0.0])
    ):  # fmt: skip
        result = {
            "temperatures": [0.4, 0.8, 1.2],
            "worst_difference": worst,
            "mean_difference": [w / 10 for w in worst],
            "converged": [True, False, True],
        }
        cells.append({"settings": {"kind": "messages", "engine": engine}, "result": result})
    finding, holds = claims.message_passing({"fig2": cells})
    assert holds == verdict
    assert f"belief_propagation {plain:.3f} (T = 0.4), above T = 0.5 0.040 (T" in finding
    assert "not settled at 1 temperatures" in finding
    assert claims.message_passing({"fig2": cells[:2]})[1] is UNCHECKED
