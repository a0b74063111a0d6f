"""Measured gene-expression data of the paper (sections 6.2, 6.3), read from files of the user.

They are looked for at an explicit path (the file or its folder), then in the folder named by the
environment variable SPINLEARN_DATA; an error names the file, where its values are published, and
its checksum. A file whose SHA-256 differs is refused: results are comparable only between equal
numbers.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import DataFileError, InvalidInputError
from spinlearn.model.arrays import FloatArray, IntArray

VARIABLE = "SPINLEARN_DATA"
PHASES = ("M/G1", "G1", "S", "S/G2", "G2/M")  # in the order of the cell cycle
NO_PHASE = -1
CEILING = 16000.0  # of leukemia's values, where the scanner saturates


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file the user has to provide."""

    name: str
    content: str
    source: str
    sha256: str


LEUKEMIA = DataFile(
    name="armstrong2002_mll.csv.gz",
    content="acute leukemia of Armstrong et al. 2002: columns split, class, then 12582 probes",
    source=(
        "the values of MLL/datasets/mll-leukemia.csv in github.com/kalyaniuniversity/mgx-datasets; "
        "train/test split by the row order of MLL.csv in github.com/qq972984605/HOC"
    ),
    sha256="884a661b09346913ae9e3f30c5cf1d134343702feaa383833bb4aa8c382b655c",
)
YEAST = DataFile(
    name="spellman1998_alpha.csv.gz",
    content=(
        "yeast cell cycle of Spellman et al. 1998: columns orf, known_phase, peak_phase, then the "
        "18 alpha-factor time points"
    ),
    source=(
        "the journal supplement CDCDATA_MBC_supplement.txt (github.com/statKim/FDA-Lab) and the "
        "lists CellCycle98.txt and KnownGenes.txt of Bioconductor's yeastCC"
    ),
    sha256="64b82a85f1db9c2952781f1fbe0e23de70c2fb9b56270006eb74080b5655086d",
)


@dataclass(frozen=True, slots=True, eq=False)
class Leukemia:
    """Raw expression of the leukemia samples; `load_leukemia` reads them.

    Attributes
    ----------
    expression : float array (n, 12582)
        Average differences as measured; more than a quarter are negative.
    truth : int array (n,)
        Index into `classes`: ALL, AML, MLL; the two that the paper labels for q = 2 come first.
    classes, probes : tuples of str
        Names of the classes and of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.datasets import Leukemia
    >>> values = np.array([[50.0, 400, 30], [90, 100, 30], [20, 1600, 30]])
    >>> samples = Leukemia(values, np.arange(3), ("ALL", "AML", "MLL"), ("a_at", "b_at", "c_at"))
    >>> samples.points(n_genes=2).round(2).tolist()
    [[0.18, 0.0], [1.13, -1.22], [-1.3, 1.22]]
    """

    expression: FloatArray
    truth: IntArray
    classes: tuple[str, ...]
    probes: tuple[str, ...]

    def points(
        self, n_genes: int = 200, *, floor: float | None = 20.0, log: bool = True
    ) -> FloatArray:
        """Standardised expression of the `n_genes` genes of largest variance, (n, n_genes).

        The paper does not say how values below the noise were treated; the defaults are the usual
        ones for this array (Affymetrix average differences): clip to [20, 16000], take log2, and
        only then rank the genes by variance, which on raw values a few outliers would decide. The
        array's control probes (AFFX...) are no genes. Values below `floor` become it, unless it is
        None; `log` needs a floor above 0.
        """
        if log and not (floor is not None and floor > 0):
            raise InvalidInputError(
                f"log=True needs floor > 0, got floor={floor!r}: the raw values go below zero"
            )
        values = self.expression[:, [not name.startswith("AFFX") for name in self.probes]]
        if not 1 <= n_genes <= values.shape[1]:
            raise InvalidInputError(f"n_genes={n_genes}: the file holds {values.shape[1]} genes")
        values = np.clip(values, floor, CEILING)
        if log:
            values = np.log2(values)
        variance = values.var(axis=0)
        chosen = np.sort(np.argsort(-variance, kind="stable")[:n_genes])
        return standardised(values[:, chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Yeast:
    """Expression of yeast genes over two cell cycles; `load_yeast` reads them.

    Attributes
    ----------
    expression : float array (n, 18)
        Log ratios; NaN where a reading is missing.
    known_phase, peak_phase : int arrays (n,)
        Phase of the cell cycle, 0 to 4 for M/G1, G1, S, S/G2 and G2/M, else -1: where it was
        established before, and of the genes on the authors' own list.
    orfs : tuple of str
        Systematic names.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.datasets import Yeast
    >>> yeast = Yeast(np.array([[0.1, np.nan, 0.3]]), np.array([1]), np.array([-1]), ("YAL001C",))
    >>> yeast.readings().tolist()
    [2]
    """

    expression: FloatArray
    known_phase: IntArray
    peak_phase: IntArray
    orfs: tuple[str, ...]

    def readings(self) -> npt.NDArray[np.int64]:
        """Number of readings present for every gene, (n,)."""
        return np.asarray(np.sum(~np.isnan(self.expression), axis=1))

    def select(self, chosen: npt.ArrayLike) -> Yeast:
        """Some of the genes: `chosen` is a mask, or row numbers."""
        index = np.arange(len(self.orfs))[np.asarray(chosen)]
        return Yeast(
            expression=self.expression[index],
            known_phase=self.known_phase[index],
            peak_phase=self.peak_phase[index],
            orfs=tuple(self.orfs[k] for k in index),
        )

    def points(self) -> FloatArray:
        """Every gene's readings with mean 0 and standard deviation 1 over its time points, (n, 18).

        That is the paper's section 6.2 read literally. Missing readings take the mean, 0.
        """
        values = self.expression
        if np.any(np.all(np.isnan(values), axis=1)):
            raise InvalidInputError(
                "some genes have no reading at all: keep those with enough, e.g. "
                "yeast.select(yeast.readings() >= 15)"
            )
        means = np.nanmean(values, axis=1, keepdims=True)
        filled = np.where(np.isnan(values), means, values)
        return np.ascontiguousarray(standardised(filled.T).T)


def load_leukemia(path: str | Path | None = None, *, split: str | None = "train") -> Leukemia:
    """Read the leukemia samples of Armstrong et al., Nature Genetics 30, 41 (2002).

    Parameters
    ----------
    path : path, optional
        The file armstrong2002_mll.csv.gz or its folder; default: in SPINLEARN_DATA.
    split : {"train", "test", None}, default "train"
        The paper's 57 samples ("train": 20 ALL, 20 AML, 17 MLL), the other 15, or all.

    Returns
    -------
    Leukemia

    Examples
    --------
    >>> from spinlearn.datasets import load_leukemia
    >>> load_leukemia("no/such/folder")  # it says where to get the file
    Traceback (most recent call last):
    ...
    spinlearn.errors.DataFileError: ...
    """
    if split not in ("train", "test", None):
        raise InvalidInputError(f"split={split!r} is unknown: use 'train', 'test' or None")
    header, rows = _table(LEUKEMIA, path)
    kept = [row for row in rows if split is None or row[0] == split]
    classes = ("ALL", "AML", "MLL")
    return Leukemia(
        expression=np.array([row[2:] for row in kept], dtype=np.float64),
        truth=np.array([classes.index(row[1]) for row in kept], dtype=np.int32),
        classes=classes,
        probes=tuple(header[2:]),
    )


def load_yeast(path: str | Path | None = None) -> Yeast:
    """Read the alpha-factor experiment of Spellman et al., Mol. Biol. Cell 9, 3273 (1998).

    Parameters
    ----------
    path : path, optional
        The file spellman1998_alpha.csv.gz (6178 genes) or its folder; default: in SPINLEARN_DATA.

    Returns
    -------
    Yeast

    Examples
    --------
    >>> from spinlearn.datasets import load_yeast
    >>> load_yeast("no/such/folder")  # it says where to get the file
    Traceback (most recent call last):
    ...
    spinlearn.errors.DataFileError: ...
    """
    _, rows = _table(YEAST, path)

    def phases(column: int) -> IntArray:
        codes = [PHASES.index(row[column]) if row[column] else NO_PHASE for row in rows]
        return np.array(codes, dtype=np.int32)

    values = [[float(v) if v else np.nan for v in row[3:]] for row in rows]
    return Yeast(
        expression=np.array(values, dtype=np.float64),
        known_phase=phases(1),
        peak_phase=phases(2),
        orfs=tuple(row[0] for row in rows),
    )


def find_file(file: DataFile, path: str | Path | None = None) -> Path:
    """Where the file is, or an error that says how to get it."""
    place = Path(path or os.environ.get(VARIABLE) or "")
    place = place / file.name if place.is_dir() else place
    if path is None and not os.environ.get(VARIABLE):
        tried = f"no path was given and {VARIABLE} is not set"
    elif place.is_file():
        return place
    else:
        tried = f"{place} does not exist"
    raise DataFileError(
        f"{file.name} is not there: {tried}. It holds {file.content}, and does not come with "
        f"the package. Public source: {file.source}. SHA-256 of the file: {file.sha256}. Pass its "
        f"path, or set {VARIABLE} to its folder"
    )


def standardised(values: FloatArray) -> FloatArray:
    """Columns with mean 0 and standard deviation 1; constant columns become 0."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def _table(file: DataFile, path: str | Path | None) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows of a file, whose checksum must be the right one."""
    place = find_file(file, path)
    content = place.read_bytes()
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != file.sha256:
        raise DataFileError(
            f"{place} is not the expected file: its SHA-256 is {checksum}, not {file.sha256}. It "
            f"may be truncated or of another version; get it again: {file.source}"
        )
    lines: Any = gzip.decompress(content).decode("utf-8").splitlines()
    header, *rows = csv.reader(lines)
    return header, rows
