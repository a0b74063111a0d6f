"""benchmarks/growth.py: exponents and ratios of its page, and one run of the command."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def growth(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "growth", raising=False)
    import growth

    return growth


def test_the_page_has_the_exponents_and_ratios_of_what_was_measured(growth, tmp_path):
    def row(n: int, seconds: float) -> dict:
        told = {"day": "2026-01-01", "load": 1.0, "machine": "one"}
        return {"graph": n / 1e5, "fit": seconds, "both": seconds + n / 1e5, "GB": n / 1e6, **told}

    results = {
        str(n): {"ours": row(n, n**1.25 / 1e4), "lgc": row(n, n / 1e5)}
        for n in (100, 1_000, 10_000, 100_000)
    }
    results["100"]["ours"]["fit"] = 50.0  # below the sizes that are fitted
    results["100000"]["lgc"] = {"failed": "> 7 s"}
    results["iris"] = {"ours": row(150, 0.3)}
    page = tmp_path / "growth.md"
    growth.write_page(page, results)
    lines = page.read_text(encoding="utf-8").splitlines()
    assert "| points | graph | default | LGC |" in lines
    assert "| 150 (iris) | 0.0015 | 0.3 |  |" in lines
    assert "| 10,000 | 0.1 | 10 | 0.1 (100) |" in lines
    assert "| 100,000 | 1 | 178 | > 7 s |" in lines
    assert "| exponent | 1.00 | 1.25 | 1.00 |" in lines
    assert "| exponent | 1.00 | 1.00 |" in lines  # of memory
    assert (tmp_path / "images" / "growth.png").stat().st_size > 5_000


@pytest.mark.slow
def test_one_command_measures_and_writes_the_page(growth, tmp_path):
    out, page = tmp_path / "growth.json", tmp_path / "growth.md"
    where = ["--out", str(out), "--page", str(page)]
    growth.main(["--points", "300", "100", "--rivals", "lgc", *where])
    results = json.loads(out.read_text())
    assert list(results) == ["100", "300"]
    assert all(row["fit"] > 0 for one in results.values() for row in one.values())
    assert "| 300 | " in page.read_text(encoding="utf-8")
    growth.main(["--points", "100", "--rivals", "sgt", "--seconds", "0", *where])
    results = json.loads(out.read_text())
    assert results["100"]["sgt"] == {"failed": "> 0 s"}
    assert "lgc" in results["300"]
