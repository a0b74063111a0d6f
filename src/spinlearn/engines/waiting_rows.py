"""WaitingRows: one large array per temperature, out of the way until all are there.

While messages are passed they need the memory. Rows that would take more than SMALL wait in a file
without a name in the folder for temporary files, which the system removes with the process.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

SMALL = 1e9  # bytes that stay in memory
SPARE = 1.1  # times what is needed must be free on the disk


class WaitingRows:
    """Rows of one shape, in single precision.

    Parameters
    ----------
    n_rows : int
        Most rows.
    shape : tuple of int
        Of one.
    """

    def __init__(self, n_rows: int, shape: tuple[int, ...]) -> None:
        self.shape, self.count = shape, 0
        self._size = int(np.prod(shape, dtype=np.int64))
        size = 4 * n_rows * self._size
        folder = tempfile.gettempdir()
        self._file: IO[bytes] | None = None
        if size > SMALL and shutil.disk_usage(folder).free > SPARE * size:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open until the end
        kept = 1 if self._file is not None else n_rows
        self._rows: npt.NDArray[np.float32] = np.empty((kept, *shape), dtype=np.float32)

    def next(self) -> npt.NDArray[np.float32]:
        """The row to be filled."""
        row: npt.NDArray[np.float32] = self._rows[0 if self._file is not None else self.count]
        return row

    def keep(self) -> None:
        """The row is filled."""
        if self._file is not None:
            self._rows[0].tofile(self._file)
        self.count += 1

    def stacked(self) -> npt.NDArray[Any]:
        """All rows that were kept, (rows, ...), read-only; nothing can be added after that."""
        if self._file is None:
            rows = self._rows if self.count == len(self._rows) else self._rows[: self.count].copy()
        else:
            self._rows = np.empty((0, *self.shape), dtype=np.float32)
            rows = np.empty((self.count, *self.shape), dtype=np.float32)
            self._file.seek(0)
            for row in rows:
                row.reshape(-1)[:] = np.fromfile(self._file, dtype=np.float32, count=row.size)
            self._file.close()
        rows.flags.writeable = False
        return rows
