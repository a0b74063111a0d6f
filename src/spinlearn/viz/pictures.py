"""Pictures: the plots and the explorer as methods of everything that holds an answer."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from spinlearn.viz import curves
from spinlearn.viz.content import explorer_content
from spinlearn.viz.explorer import page_path, write_explorer


class Pictures:
    """For classes with `equilibrium_`, `profile_`, `classes_`, `temperature_` and `tau`."""

    __slots__ = ()

    def _require_answer(self) -> None:
        """Raise an error where there is no answer yet."""

    def plot_profile(
        self, point: int | str | None = None, *, name: str | None = None, ax: Any = None
    ) -> Any:
        """Class probabilities of one point over temperature (matplotlib Axes).

        Parameters
        ----------
        point : int or str, optional
            Row number, or id of a `Result`. Without it the calls of all points: a row per point,
            ordered by its call at T*.
        name : str, optional
            For the title.
        ax : matplotlib Axes, optional
        """
        self._require_answer()
        return curves.plot_profile(self, point, name=name, ax=ax)

    def plot_phases(self, *, ax: Any = None) -> Any:
        """Energy, heat capacity, susceptibility, largest cluster; phases shaded (Axes)."""
        self._require_answer()
        return curves.plot_phases(self, ax=ax)

    def plot_map(
        self,
        temperature: float | None = None,
        *,
        coordinates: Any = None,
        pixels: Any = None,
        ax: Any = None,
    ) -> Any:
        """The points with their calls at a temperature, default T* (matplotlib Axes)."""
        self._require_answer()
        return curves.plot_map(self, temperature, coordinates=coordinates, pixels=pixels, ax=ax)

    def explore(
        self,
        path: str | PathLike[str],
        *,
        ids: Any = None,
        coordinates: Any = None,
        pixels: Any = None,
        title: str = "spinlearn",
    ) -> Path:
        """Write the explorer, one HTML file in which to move the temperature.

        Parameters
        ----------
        path : path-like
        ids : sequence (n,), optional
            Names of the points; default those of a `Result`, else row numbers.
        coordinates : array-like (n, 2), optional
            x and y of every point; default a layout made from the features or the graph.
        pixels : array-like of int (n, 2), optional
            Row and column of every point of an image, instead of coordinates.
        title : str
        """
        self._require_answer()
        target = page_path(path)
        content = explorer_content(
            self, ids=ids, coordinates=coordinates, pixels=pixels, title=title
        )
        return write_explorer(target, content)
