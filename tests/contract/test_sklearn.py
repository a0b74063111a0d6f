"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinlearn import PottsClassifier

EXPECTED_FAILURES = {
    "check_classifiers_classes": "the check uses -1 as a class; here -1 means unlabelled",
    "check_supervised_y_no_nan": "the check wants NaN in y refused; here NaN means unlabelled",
}


@parametrize_with_checks([PottsClassifier()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
