"""Verdicts follow from the numbers: each turns when its numbers do; no numbers, no verdict."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.reproduction import claims
from spinlearn.reproduction.claims import Verdict


def labelling(
    q, m, k, *, ours, cut=20, lgc=20, found=0, twin=None, paper=None, strict=None, best=None
):
    """A cell with four temperatures: T* of our rule, the paper's, that read strictly, the best.

    `found`: points of the unlabelled class, at all of them or at each.
    """
    settings = {"kind": "labelling", "q": q, "M": m, "labelling": k}
    if twin is not None:
        settings["twin"] = twin
    errors = [ours if e is None else e for e in (None, paper, strict, best)]
    return {
        "settings": settings,
        "result": {
            "errors": errors,
            "found": np.broadcast_to(found, 4).tolist(),
            "rows": {"information": 0, "paper": 1, "paper_strict": 2, "best": 3},
            "converged": [True] * 4,
            "worst_std_error": 0.0,
            "cut": cut,
            "lgc": lgc,
        },
    }


def alone(best):
    return {"settings": {"kind": "unsupervised"}, "result": {"best": best}}


def test_without_cells_nothing_is_decided():
    found = claims.all_claims({})
    assert {c.verdict for c in found} == {Verdict.UNCHECKED}
    assert [c.key for c in found][:8] == list("abcdefgh")


def test_one_labelling_worse_than_cuts_breaks_claim_a():
    # The paper's rule decides, neither ours nor the paper's read strictly.
    good = [labelling(2, 5, k, ours=22, paper=20, strict=21) for k in range(5)]
    assert claims.never_worse_than_cuts({"fig4": good}).verdict is Verdict.HOLDS
    bad = labelling(2, 2, 0, ours=20, paper=21)
    broken = claims.never_worse_than_cuts({"fig4": good, "fig5": [bad]})
    assert broken.verdict is Verdict.FAILS
    counts = "5 with our T* rule, 0 with the paper's T* rule, 5 with the paper's rule read strictly"
    assert f"of 5 labellings more errors than GC in {counts}" in broken.finding


def test_third_class_must_be_found_in_most_labellings():
    cells = [labelling(2, 2, k, ours=5, found=17 if k < 3 else 8) for k in range(5)]
    assert claims.third_class_found({"fig5": cells}).verdict is Verdict.HOLDS
    assert claims.third_class_found({"fig5": cells[1:]}).verdict is Verdict.FAILS


def test_third_class_must_be_found_by_the_papers_rule():
    papers = [labelling(2, 2, k, ours=5, found=[0, 17, 0, 17]) for k in range(3)]
    found = claims.third_class_found({"fig5": papers})
    assert found.verdict is Verdict.HOLDS
    assert "M = 2: 0% at our T*, 100% at the paper's (0% read strictly)" in found.finding
    others = [labelling(2, 2, k, ours=5, found=[17, 0, 17, 17]) for k in range(3)]
    assert claims.third_class_found({"fig5": others}).verdict is Verdict.FAILS


def test_convergence_compares_least_and_most_labels():
    wide = [labelling(3, 5, k, ours=10, cut=30) for k in range(3)]
    narrow = [labelling(3, 20, k, ours=10, cut=11) for k in range(3)]
    assert claims.methods_converge({"fig4": wide + narrow}).verdict is Verdict.HOLDS
    swapped = [labelling(3, 5, 0, ours=10, cut=11), labelling(3, 20, 0, ours=10, cut=30)]
    assert claims.methods_converge({"fig4": swapped}).verdict is Verdict.FAILS
    assert claims.methods_converge({"fig4": wide}).verdict is Verdict.UNCHECKED


def test_sampling_error_of_counts_comes_from_twins():
    cells = [labelling(3, 5, 0, ours=10, twin=0), labelling(3, 5, 0, ours=14, twin=1)]
    cells += [labelling(3, 20, 0, ours=10, twin=0)]
    assert (
        "1 repeated runs: median 4, largest 4" in claims.methods_converge({"fig4": cells}).finding
    )


def test_mll_is_lost_by_others():
    cells = [labelling(2, 6, k, ours=5, cut=17, lgc=18, found=16) for k in range(4)]
    assert claims.mll_lost_by_others({"fig5": cells}).verdict is Verdict.HOLDS
    assert "16.0 of 17 MLL" in claims.mll_lost_by_others({"fig5": cells}).finding
    saved = [*cells, labelling(2, 6, 9, ours=5, cut=16)]
    assert claims.mll_lost_by_others({"fig5": saved}).verdict is Verdict.FAILS


@pytest.mark.parametrize(("share", "verdict"), [(1, "FAILS"), (3, "HOLDS"), (5, "FAILS")])
def test_labels_hurt_in_some_of_the_instances(share, verdict):
    cells = [labelling(2, 2, k, ours=12 if k < share else 11) for k in range(10)]
    found = claims.labels_can_hurt({"fig5": [alone(11), *cells]})
    assert found.verdict is Verdict[verdict]


def test_phases_widen_at_both_ends():
    def cells(low, high):
        chain = {
            "settings": {"kind": "multicanonical"},
            "result": {
                "temperatures": [0.5],
                "marginals": [[0.5] * 1360],
                "exact_errors": [0],
                "worst_difference": [0.0],
                "converged": [True],
            },
        }
        from spinlearn.datasets import two_bands

        chain["result"]["agreement"] = [[0.5] * two_bands().graph().n_edges]
        phase = "super-paramagnetic"
        curves = [
            {
                "settings": {"kind": "exact", "labels": labels},
                "result": {
                    "phases": [{"phase": phase, "low": a, "high": b}],
                    "grain_phases": [{"phase": phase, "low": 1.0, "high": 1.1}],
                },
            }
            for labels, (a, b) in ((True, (low, high)), (False, (1.0, 1.2)))
        ]
        return {"fig2": [*curves, chain]}

    assert claims.labels_widen_phase(cells(0.5, 1.3)).verdict is Verdict.HOLDS
    assert claims.labels_widen_phase(cells(0.5, 1.2)).verdict is Verdict.FAILS
    assert claims.labels_widen_phase(cells(1.1, 1.3)).verdict is Verdict.FAILS


def yeast_run(considered, *, considered_cut=0.2, converged=True):
    means = [{"mean": value, "by_class": [value] * 5} for value in (0.2, considered)]
    cuts = [{"mean": 0.2}, {"mean": considered_cut}]
    result = {
        "counts": {"genes": 1, "known": 1, "listed": 1, "both": 1, "test": 9},
        "temperatures": [0.0, 0.5],
        "success": means,
        "considered_success": means,
        "considered_cut": cuts,
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
        ([{"considered": 0.32}], "HOLDS"),
        ([{"considered": 0.19}], "FAILS"),
        ([{"considered": 0.32, "considered_cut": 0.33}], "FAILS"),  # on the same genes GC is better
        ([{"considered": 0.32}, {"considered": 0.34}], "HOLDS"),
        ([{"considered": 0.2}, {"considered": 0.44}], "FAILS"),  # 0.32 ± 0.12
    ],
)
def test_yeast_compares_with_cuts_on_the_same_genes(runs, verdict):
    found = claims.yeast_success({"yeast": [yeast_run(**run) for run in runs]})
    assert found.verdict is Verdict[verdict]


def test_yeast_says_how_sure_it_is():
    runs = [yeast_run(0.32, converged=False), yeast_run(0.34)]
    finding = claims.yeast_success({"yeast": runs}).finding
    assert "ours 33.0% ± 1.0% and GC 20.0% ± 0.0% of the 7 test genes" in finding
    assert "above tolerance" in finding


def test_twins_do_not_count_twice():
    from spinlearn.reproduction.comparison import errors_by_panel

    cells = [labelling(3, 5, 0, ours=1, twin=0), labelling(3, 5, 0, ours=9, twin=1)]
    np.testing.assert_array_equal(errors_by_panel(cells)[3, 5]["information"], [1])


def test_figure_1_is_decided_by_the_labels_selected_for_it():
    def cells(lgc, ours):
        results = [
            {"cut": 60, "lgc": 2, "sgt": 2, "ncut": 40, "ours": 1},
            {"cut": 60, "lgc": lgc, "sgt": 30, "ncut": 40, "ours": ours},
        ]
        return {
            "fig1": [
                {
                    "settings": {"n_labels": n_labels},
                    "result": {"errors": errors, "n_points": 100, "temperature": 0.5},
                }
                for n_labels, errors in zip((7, 10), results, strict=True)
            ]
        }

    assert claims.others_fail_on_filament(cells(30, 1)).verdict is Verdict.HOLDS
    assert claims.others_fail_on_filament(cells(9, 1)).verdict is Verdict.FAILS
    assert claims.others_fail_on_filament(cells(30, 3)).verdict is Verdict.FAILS
    assert "7 labels: cut 60, lgc 2" in claims.others_fail_on_filament(cells(30, 1)).finding


def passed_messages(engine, worst):
    result = {
        "temperatures": [0.4, 0.8, 1.2],
        "worst_difference": worst,
        "mean_difference": [w / 10 for w in worst],
        "converged": [True, False, True],
    }
    return {"settings": {"kind": "messages", "engine": engine}, "result": result}


@pytest.mark.parametrize(
    ("plain", "generalised", "verdict"),
    [(0.5, 0.05, Verdict.HOLDS), (0.05, 0.01, Verdict.FAILS), (0.5, 0.2, Verdict.FAILS)],
)
def test_only_generalised_messages_must_be_right(plain, generalised, verdict):
    chain = {"temperatures": [0.4], "worst_difference": [0.0], "converged": [True]}
    cells = [
        {"settings": {"kind": "multicanonical"}, "result": chain},
        passed_messages("belief_propagation", [plain, 0.04, 0.0]),
        passed_messages("generalized_bp", [0.0, generalised, 0.0]),
    ]
    found = claims.message_passing({"fig2": cells})
    assert found.verdict is verdict
    assert f"belief_propagation {plain:.3f} (T = 0.4), above T = 0.5 0.040 (T" in found.finding
    assert "not settled at 1 temperatures" in found.finding
    assert claims.message_passing({"fig2": cells[:2]}).verdict is Verdict.UNCHECKED
