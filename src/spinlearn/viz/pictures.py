"""Pictures: what everything that holds an answer can draw of it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from spinlearn.answers.answer import Answer
from spinlearn.viz import curves
from spinlearn.viz.content import explorer_content
from spinlearn.viz.explorer import page_path, write_explorer
from spinlearn.viz.places import layouts


class Pictures:
    """Plots and the explorer, for classes that hold an `Answer`.

    They say which (`_pictured`) and what they know of the points' names and places.
    """

    __slots__ = ()

    def _pictured(self) -> Answer:
        raise NotImplementedError

    def _ids(self) -> list[str] | None:
        return None

    def _layout_sources(self) -> dict[str, Any]:
        """What is known of `coordinates`, `pixels`, `points` and `components` of `layouts`."""
        return {}

    def plot_profile(
        self, point: int | str | None = None, *, name: str | None = None, ax: Any = None
    ) -> Any:
        """Class probabilities of one point over temperature.

        Parameters
        ----------
        point : int or str, optional
            Row number, or id of a `Result`. Without it the calls of all points: a row per point,
            ordered by its call at the temperature of the answer.
        name : str, optional
            For the title.
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return curves.plot_profile(self._pictured(), point, ids=self._ids(), name=name, ax=ax)

    def plot_phases(self, *, ax: Any = None) -> Any:
        """Energy, heat capacity, susceptibility and largest cluster over temperature; phases are
        shaded.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return curves.plot_phases(self._pictured(), ax=ax)

    def plot_map(
        self,
        temperature: float | None = None,
        *,
        coordinates: Any = None,
        pixels: Any = None,
        ax: Any = None,
    ) -> Any:
        """The points with their calls at a temperature.

        Parameters
        ----------
        temperature : float, optional
            In the unit of the couplings; default: that of the answer.
        coordinates : array-like of shape (n, 2), optional
            x and y of every point; default: a layout made from the graph or the features.
        pixels : array-like of int, shape (n, 2), optional
            Row and column of every point of an image, instead of coordinates.
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        answer = self._pictured()
        places = self._sources(coordinates, pixels)
        layout = layouts(answer.graph, **places, first_only=True)[0]
        shown = answer if temperature is None else answer.at(temperature)
        return curves.plot_map(shown, layout, equal=coordinates is not None, ax=ax)

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
            The file.
        ids : sequence of shape (n,), optional
            Names of the points; default: those of a `Result`, else row numbers.
        coordinates : array-like of shape (n, 2), optional
            x and y of every point; default: a layout made from the graph or the features.
        pixels : array-like of int, shape (n, 2), optional
            Row and column of every point of an image, instead of coordinates.
        title : str, default "spinlearn"
            Of the page.

        Returns
        -------
        pathlib.Path
            The file that was written.
        """
        answer = self._pictured()
        target = page_path(path)
        content = explorer_content(
            answer,
            ids=self._ids() if ids is None else ids,
            title=title,
            **self._sources(coordinates, pixels),
        )
        return write_explorer(target, content)

    def _sources(self, coordinates: Any, pixels: Any) -> dict[str, Any]:
        """What a layout is made from: places given now go before those known already."""
        sources = self._layout_sources()
        if coordinates is not None or pixels is not None:
            sources |= {"coordinates": coordinates, "pixels": pixels}
        return sources
