"""A model on disk in parts, one per block of nodes, so that no process need hold all of it.

    parts.json            number of nodes, states, blocks; the class term
    nodes-0.parquet       node, size, f0, f1, ...: nodes of block 0, ascending, with their fields
    edges-0.parquet       own, other, block, coupling: every edge at a node of block 0; those within
                          the block from either end

Nodes are those that are free: clamped ones are part of the fields of their neighbours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages.block import MessageBlock
from spinlearn.engines.messages.layout import ClassTerm, is_two_valued
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.io.folder import parent_folder
from spinlearn.io.table import import_parquet
from spinlearn.minimizers.modules import partition
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph
from spinlearn.model.potts import ConditionedModel, PottsModel

HEADER = "parts.json"
FIELDS = "f{}"


@dataclass(frozen=True, slots=True, eq=False)
class MessageParts:
    folder: Path  # readable by every worker under this name
    n_nodes: int
    n_states: int
    n_blocks: int
    term: ClassTerm

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Parts that `write_message_parts`, or another program, has written."""
        path = Path(folder).resolve()
        try:
            header = json.loads((path / HEADER).read_text(encoding="utf-8"))
            term = ClassTerm(
                coefficient=float(header["coefficient"]),
                targets=np.array(header["targets"], dtype=np.float64),
                held=np.array(header["held"], dtype=np.float64),
                total=float(header["total_size"]),
            )
            n, q, blocks = (int(header[name]) for name in ("n_nodes", "n_states", "n_blocks"))
            return cls(path, n, q, blocks, term)
        except OSError as error:
            raise InvalidInputError(
                f"{path / HEADER} cannot be read ({error.strerror or error}): give a folder that "
                "write_message_parts made"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(
                f"{path / HEADER} does not describe parts of a model ({type(error).__name__}: "
                f"{error}): write them again"
            ) from error

    def read(self, block: int) -> MessageBlock:
        """One block, with uniform messages."""
        nodes = _columns(self.folder / f"nodes-{block}.parquet")
        edges = _columns(self.folder / f"edges-{block}.parquet")
        fields = [nodes[FIELDS.format(s)] for s in range(self.n_states)]
        return MessageBlock(
            block,
            nodes=nodes["node"].astype(np.int64),
            fields=np.column_stack(fields).astype(np.float64),
            sizes=nodes["size"].astype(np.float64),
            own=edges["own"].astype(np.int64),
            other=edges["other"].astype(np.int64),
            block=edges["block"].astype(np.int64),
            couplings=edges["coupling"].astype(np.float64),
            term=self.term,
        )


def write_message_parts(model: PottsModel, folder: str | Path, n_blocks: int) -> MessageParts:
    """Write a model of two pair costs and a quadratic class term at most into a new folder."""
    parquet = import_parquet()
    import pyarrow as pa

    penalty = model.class_penalty
    if not is_two_valued(model) or (penalty is not None and penalty.kind != "quadratic"):
        raise UnsupportedModelError(
            "parts hold models in which a pair costs one amount if alike and one if not, beside a "
            "quadratic class term: use engine='belief_propagation' in one process for others"
        )
    free = ConditionedModel.of(model)
    n, q = free.fields.shape
    graph = Graph(n, free.edges, np.abs(free.couplings))
    block = partition(graph, n_blocks)
    step = float(model.pair_cost[0, 1] - model.pair_cost[0, 0])
    term, all_sizes = ClassTerm.of(model)
    sizes = all_sizes[free.nodes]
    path = Path(folder).resolve()
    if path.exists() and any(path.iterdir()):
        raise InvalidInputError(f"{path} is not empty: name another folder for the parts")
    with parent_folder(path):
        path.mkdir(exist_ok=True)
        ends = np.concatenate([free.edges, free.edges[:, ::-1]]).astype(np.int64)
        couplings = np.tile(free.couplings * step, 2)
        for b in range(n_blocks):
            own = np.flatnonzero(block == b)
            nodes: dict[str, Any] = {"node": own, "size": sizes[own]}
            nodes |= {FIELDS.format(s): free.fields[own, s] for s in range(q)}
            parquet.write_table(pa.table(nodes), path / f"nodes-{b}.parquet")
            here = np.flatnonzero(block[ends[:, 0]] == b)
            edges = {
                "own": ends[here, 0],
                "other": ends[here, 1],
                "block": block[ends[here, 1]],
                "coupling": couplings[here],
            }
            parquet.write_table(pa.table(edges), path / f"edges-{b}.parquet")
        header = {
            "n_nodes": n, "n_states": q, "n_blocks": n_blocks, "total_size": term.total,
            "coefficient": term.coefficient, "targets": term.targets.tolist(),
            "held": term.held.tolist(),
        }  # fmt: skip
        # Last: a folder without it is not whole.
        (path / HEADER).write_text(json.dumps(header), encoding="utf-8", newline="\n")
    return MessageParts.open(path)


def whole_marginals(model: PottsModel, free_marginals: FloatArray) -> FloatArray:
    """Marginals of all nodes of the model that was written in parts, (T, n, q)."""
    return ConditionedModel.of(model).full_marginals(free_marginals)


def _columns(path: Path) -> dict[str, npt.NDArray[Any]]:
    parquet = import_parquet()
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error
    return {name: table.column(name).to_numpy() for name in table.column_names}
