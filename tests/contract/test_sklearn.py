"""scikit-learn's own checks: of the classifier, and of a baseline of either base class."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinlearn import PottsClassifier
from spinlearn.baselines import BASELINES, GraphClassifier
from spinlearn.settings import CLASSIFIER

NO_CLASS = {"check_classifiers_classes": "the check uses -1 as a class; here it means unlabelled"}
NO_LABELS = {
    "check_supervised_y_no_nan": "the check wants NaN in y refused; here NaN means unlabelled"
}


def expected_failures(estimator):
    if isinstance(estimator, PottsClassifier):
        return NO_CLASS | NO_LABELS
    return NO_CLASS if isinstance(estimator, GraphClassifier) else {}


# What the rivals share is in two bases: one of each is enough.
@pytest.mark.slow
@parametrize_with_checks(
    [PottsClassifier(), BASELINES["lgc"](), BASELINES["ncut"]()],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_record_of_settings_is_the_signature():
    assert list(inspect.signature(PottsClassifier).parameters) == [one.name for one in CLASSIFIER]
    assert len(CLASSIFIER) == 12
    assert PottsClassifier().get_params() == {one.name: one.default for one in CLASSIFIER}
    with pytest.raises(TypeError, match="no parameter 'n_components'"):
        PottsClassifier(n_components=3)
