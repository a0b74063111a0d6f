"""Graphs with attributes in files: GraphML (igraph, Gephi, Cytoscape) and GML, by networkx.

Attributes of nodes are columns: one may hold the labels, one the ids. Without an id a node is
called as the file calls it, in GML by its label. The weight of an edge is its attribute weight, or
1; parallel edges add up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spinlearn.errors import InvalidInputError, needing
from spinlearn.graphs import from_networkx
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.graph_file import errors_about
from spinlearn.io.names import id_column, ids_of, own_labels, refuse_features
from spinlearn.io.table import SNIFFED_BYTES, Table

GRAPHML = ".graphml"
NETWORKX = (GRAPHML, ".gml")


def read_networkx_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The nodes of a graph, and their attributes."""
    if options.labels is None and options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(
            f"{path}: which attribute of the nodes holds the labels? Name it with --labels, or "
            "give them in a second file with --labels-file"
        )
    refuse_features(path, options)
    loaded = _load(path)
    if loaded.is_directed():
        raise InvalidInputError(
            f"{path} is a directed graph, but couplings are mutual: save it as an undirected one"
        )
    with errors_about(path):
        graph, nodes = from_networkx(loaded)
    attributes = [loaded.nodes[node] for node in nodes]
    names = dict.fromkeys(name for one in attributes for name in one)
    cells: dict[str, Any] = {str(name): [one.get(name) for one in attributes] for name in names}
    table = Table(path=path, cells=cells)
    key, joined = id_column(table, options, label_table)
    if key is not None:
        ids = ids_of(table, key)
    elif path.suffix.lower() == GRAPHML:
        ids = [str(node) for node in nodes]
    else:
        ids = [str(one.get("label", node)) for one, node in zip(attributes, nodes, strict=True)]
    return Dataset(
        source=path,
        ids=ids,
        id_column=key if joined else None,
        columns=table,
        labels=own_labels(table, options, len(nodes)),
        graph=graph,
        notes=joined,
        cells=cells if options.for_labelling else {},
    )


def _load(path: Path) -> Any:
    with needing(
        f"{path.suffix} files need networkx, which is not installed: pip install "
        "'spinlearn[networkx]'"
    ):
        import networkx
    with open(path, "rb") as file:
        if b"\0" in file.read(SNIFFED_BYTES):
            raise InvalidInputError(f"{path} is not text (it holds zero bytes): get it again")
    try:
        if path.suffix.lower() == GRAPHML:
            return networkx.read_graphml(path)
        return networkx.read_gml(path, label="id")
    except Exception as error:  # XML, numbers and attributes fail in many ways
        raise InvalidInputError(
            f"{path} cannot be read as {path.suffix[1:]} ({type(error).__name__}: {error}): save "
            "it again"
        ) from error
