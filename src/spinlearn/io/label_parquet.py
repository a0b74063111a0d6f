"""The labelled table as a Parquet file: the columns of labels.csv, typed.

Calls and states are dictionary-encoded, numbers in single precision as whole steps of 0.0001;
temperatures that single precision does not reach are in double.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.names import outcome_name
from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.answers.table import STEPS, whole_steps
from spinlearn.core.array_checks import SINGLE
from spinlearn.core.arrays import FloatArray
from spinlearn.io.result import Result


def parquet_at_hand() -> bool:
    """Whether Parquet can be written."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def write_label_parquet(path: Path, result: Result) -> None:
    """Write the answer of a result."""
    import pyarrow as pa
    from pyarrow import parquet

    decision = result.decision
    codes, call = np.unique(decision.outcomes, return_inverse=True)
    names = [outcome_name(int(c), result.classes, decision.confused_sets) for c in codes]
    low, high = result.profile.call_ranges(result.row)
    ends = _shortened(result.profile.boundaries())
    columns: dict[str, Any] = {
        "id": pa.array(result.ids),
        "call": _words(call.astype(np.int32), names),
        "status": _words(decision.status.astype(np.int8), STATUS_NAMES),
        "confidence": _rounded(result.confidence),
    }
    columns |= {f"p:{c}": _rounded(p) for c, p in _by_class(result, result.probabilities)}
    if result.std_error is not None:
        columns |= {f"se:{c}": _rounded(e) for c, e in _by_class(result, result.std_error)}
    columns |= {"t_low": ends[low], "t_high": ends[high]}
    reasons = result.reasons
    if reasons:
        columns["reason"] = [reasons.get(i, "") for i in range(len(result.ids))]
    parquet.write_table(pa.table(columns), path, compression="zstd", write_page_checksum=True)


def _by_class(result: Result, values: FloatArray) -> list[tuple[str, FloatArray]]:
    return [(str(c), values[:, k]) for k, c in enumerate(result.classes)]


def _rounded(values: FloatArray) -> npt.NDArray[np.float32]:
    return (whole_steps(values) / STEPS).astype(np.float32)


def _shortened(ends: FloatArray) -> npt.NDArray[np.floating[Any]]:
    """Temperatures in single precision, unless finite ones would become infinite."""
    largest = np.max(ends[np.isfinite(ends)], initial=0.0)
    return ends.astype(np.float32 if largest <= SINGLE else np.float64)


def _words(numbers: npt.NDArray[Any], words: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list(words)))
