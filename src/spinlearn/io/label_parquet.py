"""The labelled table as a Parquet file: the columns of labels.csv, typed.

Calls and states are dictionary-encoded, numbers in single precision as whole steps of 0.0001.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.names import outcome_name
from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.answers.table import STEPS, table_columns, whole_steps
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
    seconds, second = np.unique(result.second.astype(str), return_inverse=True)
    states, errors = result.table_states(), result.std_error
    values = [result.ids, _words(call.astype(np.int32), names),
              _words(decision.status.astype(np.int8), STATUS_NAMES), _rounded(result.confidence),
              _words(second.astype(np.int32), seconds), *map(_rounded, states.T)]  # fmt: skip
    if errors is not None:
        values += map(_rounded, errors.T)
    columns = table_columns(result.classes, result.n_new, states.shape[1], errors is not None)
    parquet.write_table(
        pa.table(dict(zip(columns, values, strict=True))),
        path, compression="zstd", write_page_checksum=True,
    )  # fmt: skip


def _rounded(values: FloatArray) -> npt.NDArray[np.float32]:
    return (whole_steps(values) / STEPS).astype(np.float32)


def _words(numbers: npt.NDArray[Any], words: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list(words)))
