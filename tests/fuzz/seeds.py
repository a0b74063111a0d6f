"""Undamaged files of every kind, small, each with the command that reads it."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.io import mmwrite

N = 12
QUICK = ("--temperature", "auto:grid=0.5", "--method", "paper", "--quiet")
SAMPLED = ("--temperature", "auto:grid=0.5,1", "--method", "paper", "--quiet", "--engine")
RESUMED = {
    "multicanonical": (*SAMPLED, "multicanonical:tol=0.3,checkpoint_seconds=0"),
    "tempering": (*SAMPLED, "tempering:tol=0.3,checkpoint_seconds=0"),
    "population_annealing": (*SAMPLED, "population_annealing:tol=0.3,checkpoint_seconds=0"),
    "belief_propagation": (*SAMPLED, "belief_propagation:checkpoint_seconds=0"),
}


@dataclass(frozen=True, slots=True)
class Seed:
    """A file to damage."""

    name: str  # of the file, in a folder of its own
    command: tuple[str, ...]
    answer: str = "out/labels.csv"  # the file that holds the answer of that command
    sealed: bool = False  # it carries checksums: whatever is accepted must be undamaged


def _fit(name: str, *options: str, sealed: bool = False) -> Seed:
    return Seed(name, ("fit", name, *options, *QUICK, "--out", "out"), sealed=sealed)


OWN = ("--labels", "kind", "--id", "key")
SECOND = ("--labels-file", "labels.csv", "--labels", "kind")
SEEDS: dict[str, Seed] = {
    "csv": _fit("data.csv", *OWN),
    "tsv": _fit("data.tsv", *OWN),
    "gzip": _fit("data.csv.gz", *OWN, sealed=True),
    "parquet": _fit("data.parquet", *OWN),
    "h5ad": _fit("data.h5ad", "--labels", "kind"),
    "mtx": _fit("data.mtx", *SECOND),
    "edges": _fit("data.edges", *SECOND),
    "graphml": _fit("data.graphml", "--labels", "kind"),
    "gml": _fit("data.gml", "--labels", "kind"),
    "npy": _fit("data.npy", *SECOND),
    "npz": _fit("data.npz", *OWN, sealed=True),
    "packed": _fit("packed.npz", *OWN, sealed=True),
    "sparse": _fit("sparse.npz", *SECOND, sealed=True),
    **({"xlsx": _fit("data.xlsx", *OWN)} if find_spec("openpyxl") else {}),
    "labels": Seed("labels.csv", ("fit", "data.npy", *SECOND, *QUICK, "--out", "out")),
    "model": Seed("old/model.npz", ("explore", "old", "--out", "out"), sealed=True),
    **{
        f"checkpoint_{engine}": Seed(
            ".out.checkpoint.npz",
            ("fit", "data.csv", *OWN, *options, "--out", "out", "--resume"),
            sealed=True,
        )
        for engine, options in RESUMED.items()
    },
}


def write_seeds(folder: Path, run: Callable[..., object]) -> dict[str, bytes]:
    """All undamaged files, by kind; `run(*arguments, cwd=)` is the command line."""
    import anndata

    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(0, 0.4, (N // 2, 2)), rng.normal(3, 0.4, (N // 2, 2))])
    kinds = ["left", "right"] + [""] * (N - 2)
    kinds[1], kinds[N // 2] = "", "right"
    keys = [f"p{k}" for k in range(N)]
    frame = pd.DataFrame({"key": keys, "kind": kinds, "a": points[:, 0], "b": points[:, 1]})
    frame.to_csv(folder / "data.csv", index=False, lineterminator="\n")
    frame.to_csv(folder / "data.tsv", sep="\t", index=False, lineterminator="\n")
    frame.to_parquet(folder / "data.parquet")
    text = (folder / "data.csv").read_bytes()
    (folder / "data.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    numbered = frame[["kind"]].assign(key=range(N))[["key", "kind"]]
    numbered.to_csv(folder / "labels.csv", index=False, lineterminator="\n")
    np.save(folder / "data.npy", points)
    arrays = {"X": points, "kind": np.array(kinds), "key": np.array(keys)}
    np.savez(folder / "data.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    ring = sparse.coo_array(
        (np.arange(1.0, N), (np.arange(N - 1), np.arange(1, N))), shape=(N, N)
    ).tocsr()
    both = sparse.csr_array(ring + ring.T)
    sparse.save_npz(folder / "sparse.npz", both)
    mmwrite(folder / "data.mtx", both, precision=4)
    edges = [f"{k}\t{k + 1}\t{1 + k / 4}\n" for k in range(N - 1)]
    (folder / "data.edges").write_text("".join(edges), encoding="utf-8")
    path = nx.path_graph(N)
    nx.set_node_attributes(path, dict(enumerate(kinds)), "kind")
    nx.set_edge_attributes(path, {edge: 1 + edge[0] / 4 for edge in path.edges}, "weight")
    nx.write_graphml_xml(path, folder / "data.graphml")
    nx.write_gml(path, folder / "data.gml")
    if "xlsx" in SEEDS:
        frame.to_excel(folder / "data.xlsx", index=False)
    cells = anndata.AnnData(points, obs=pd.DataFrame({"kind": kinds}, index=keys))
    cells.write_h5ad(folder / "data.h5ad")
    run("fit", "data.csv", *OWN, "--temperature", "auto:grid=0.25,0.5", "--out", "old", cwd=folder)
    files = {
        kind: (folder / seed.name).read_bytes()
        for kind, seed in SEEDS.items()
        if not kind.startswith("checkpoint_")
    }
    return files | {
        f"checkpoint_{engine}": _checkpoint(folder, options, run)
        for engine, options in RESUMED.items()
    }


class _EnoughError(Exception):
    """Ends a run that has saved often enough."""


def _checkpoint(folder: Path, options: tuple[str, ...], run: Callable[..., object]) -> bytes:
    """What a run that was killed half way left."""
    from spinlearn.engines import checkpoint

    save, left = checkpoint.save, [2]

    def save_and_end(*arguments: object) -> None:
        save(*arguments)  # type: ignore[arg-type]
        left[0] -= 1
        if left[0] == 0:
            raise _EnoughError

    checkpoint.save = save_and_end  # type: ignore[assignment]
    try:
        run("fit", "data.csv", *OWN, *options, "--out", "out", cwd=folder)
    finally:
        checkpoint.save = save
    path = folder / ".out.checkpoint.npz"
    content = path.read_bytes()
    path.unlink()
    return content
