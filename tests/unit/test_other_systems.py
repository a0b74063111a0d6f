"""What Windows does otherwise: its calls are played here, as its documentation has them."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from spinlearn.cli.label import _wait
from spinlearn.core.file_lock import BEYOND, try_lock
from spinlearn.core.processes import STILL_ACTIVE, _is_running_on_windows

HANDLE = 2**40  # cut to 32 bits it would be none


class Call:
    """A function of a library, which may be told what it takes."""

    def __init__(self, answer) -> None:
        self.answer = answer
        self.argtypes, self.restype = None, ctypes.c_int

    def __call__(self, *arguments):
        return self.answer(*arguments)


def windows(monkeypatch, handle: int | None, error: int = 0, code: int = 0) -> list[int]:
    """A machine on which `handle` is got for every process; the handles that are closed."""
    closed: list[int] = []

    def exit_code(found, at) -> int:
        assert found == HANDLE
        at._obj.value = code
        return 1

    kernel = SimpleNamespace(
        OpenProcess=Call(lambda rights, inherit, process: handle),
        GetExitCodeProcess=Call(exit_code),
        CloseHandle=Call(closed.append),
    )
    monkeypatch.setattr(ctypes, "WinDLL", lambda name, use_last_error: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)
    return closed


@pytest.mark.parametrize(("error", "runs"), [(5, True), (87, False)])
def test_a_process_that_may_not_be_opened_runs(monkeypatch, error, runs):
    windows(monkeypatch, None, error)
    assert _is_running_on_windows(1234) == runs


@pytest.mark.parametrize(("code", "runs"), [(STILL_ACTIVE, True), (0, False)])
def test_a_process_that_was_opened_is_asked_and_closed(monkeypatch, code, runs):
    closed = windows(monkeypatch, HANDLE, code=code)
    assert _is_running_on_windows(1234) == runs
    assert closed == [HANDLE]
    assert not _is_running_on_windows(10**30)


def test_ctrl_c_is_looked_for_again_and_again(monkeypatch):
    waits: list[float] = []

    class Event:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) == 3

        def set(self) -> None:
            pass

    monkeypatch.setattr(threading, "Event", Event)
    _wait()
    assert len(waits) == 3
    assert max(waits) <= 1


@pytest.mark.parametrize(("error", "locked"), [(None, True), (13, False), (22, None)])
def test_a_file_is_locked_beyond_its_text(tmp_path, monkeypatch, error, locked):
    """What is locked on Windows nobody can read, and the text says who holds the lock."""
    asked = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        asked.append((os.lseek(descriptor, 0, os.SEEK_CUR), mode, count))
        if error is not None:
            raise OSError(error, os.strerror(error))

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    with open(tmp_path / "lock", "x+b") as file, monkeypatch.context() as patch:
        patch.setattr("spinlearn.core.file_lock.sys", SimpleNamespace(platform="win32"))
        assert try_lock(file.fileno()) is locked
    assert asked == [(BEYOND, 2, 1)]


def test_a_file_is_locked_until_it_is_closed(tmp_path):
    with open(tmp_path / "lock", "x+b") as first:
        assert try_lock(first.fileno()) is True
        with open(tmp_path / "lock", "r+b") as second:
            assert try_lock(second.fileno()) is False
    with open(tmp_path / "lock", "r+b") as third:
        assert try_lock(third.fileno()) is True
