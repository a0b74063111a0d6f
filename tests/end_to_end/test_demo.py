"""The demo as a user runs it: the command, its table, its pictures."""

import errno
import os

import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.reproduction import demo
from tests.end_to_end.tool import spinlearn


@pytest.mark.slow
def test_demo_command(tmp_path):
    out = tmp_path / "out"
    done = spinlearn("demo", "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "T* = 0." in done.stdout
    for name in ("figure1.png", "figure2.png"):
        data = (out / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000
        assert str(name) in done.stdout
    report = (out / "report.md").read_text()
    rows = [r.split("|")[1:4] for r in report.splitlines() if r.startswith("| 0.7 ")]
    assert len(rows) == 1
    assert int(rows[0][1]) < 30 < 600 < int(rows[0][2])
    explorer = (out / "report.html").read_text()
    assert "Two bands, seven labels" in explorer
    assert "report.html" in done.stdout


@pytest.mark.slow
def test_a_demo_that_is_cut_short_leaves_nothing_and_can_be_run_again(tmp_path, monkeypatch):
    def full(path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(demo, "_draw_rivals", full)
        with pytest.raises(InvalidInputError, match=r"cannot be written .No space.*rivals\.png"):
            demo.run_demo(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    assert all(path.is_file() for path in demo.run_demo(tmp_path / "out").files)
