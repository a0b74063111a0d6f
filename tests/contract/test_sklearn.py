"""scikit-learn's own checks of the estimators."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinlearn import PottsClassifier
from spinlearn.baselines import BASELINES, GraphClassifier

NO_CLASS = {"check_classifiers_classes": "the check uses -1 as a class; here it means unlabelled"}
NO_LABELS = {
    "check_supervised_y_no_nan": "the check wants NaN in y refused; here NaN means unlabelled"
}


def expected_failures(estimator):
    if isinstance(estimator, PottsClassifier):
        return NO_CLASS | NO_LABELS
    return NO_CLASS if isinstance(estimator, GraphClassifier) else {}


# What the rivals share is in two bases: one of each is enough.
ESTIMATORS = [PottsClassifier(), BASELINES["lgc"](), BASELINES["ncut"]()]


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
