"""A script: spinlearn on this machine as if it were Windows, as far as that can be had.

Reads a list from its standard input. A list in it is a command line, which is run; a text is Python
that is run as if it were a module of spinlearn. Ends with a list: what each of them raised, if
anything. Other packages have their own ways for every system and keep what they need.
"""

from __future__ import annotations

import builtins
import importlib
import io
import json
import os
import signal
import sys
import warnings


def names(text):
    return text.split()


# What Windows or macOS have not.
CALLS = names("""
    chown chroot confstr copy_file_range ctermid fchdir fchmod fchown fdatasync fork forkpty
    fstatvfs getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getrandom
    getresuid getsid getuid initgroups killpg lchown lockf major makedev memfd_create minor mkfifo
    mknod nice openpty pathconf pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv pwrite
    readv register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile set_blocking
    setpriority setsid setuid splice statvfs sync sysconf uname wait wait3 wait4 waitid writev
    O_CLOEXEC O_DIRECTORY O_DSYNC O_NOFOLLOW O_NONBLOCK O_SYNC PRIO_PROCESS WNOHANG
""")
SIGNALS = names("""
    SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2
    SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL alarm getitimer pause
    pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigwait
""")
MODULES = names("crypt curses fcntl grp nis posix pty pwd readline resource syslog termios tty")
OTHERS = names("""
    anndata asyncio h5py joblib matplotlib.pyplot multiprocessing numba numpy pandas PIL.Image
    platform pyarrow.parquet rich.progress rich.table scipy.optimize scipy.sparse.csgraph
    scipy.sparse.linalg scipy.spatial scipy.stats shutil sklearn.decomposition sklearn.neighbors
    subprocess tempfile typer
""")


class Seen:
    """A module as spinlearn sees it: without some names, with others in the place of its own."""

    def __init__(self, module, absent=(), **other):
        vars(self).update(_module=module, _absent=set(absent), _other=other)

    def __getattr__(self, name):
        if name in self._absent:
            raise AttributeError(f"{self._module.__name__}.{name} is not on every system")
        return self._other[name] if name in self._other else getattr(self._module, name)

    def __setattr__(self, name, value):
        setattr(self._module, name, value)


def kill(process, number):
    raise AssertionError("os.kill ends processes on Windows")


def hide():
    """From here on modules of spinlearn find another system."""
    seen = {
        "os": Seen(os, CALLS, kill=kill, name="nt", linesep="\r\n"),
        "signal": Seen(signal, SIGNALS),
        "sys": Seen(sys, platform="win32"),
    }
    whole = builtins.__import__

    def load(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0 and (globals or {}).get("__name__", "").startswith("spinlearn"):
            first = name.partition(".")[0]
            if first in MODULES:
                raise ModuleNotFoundError(f"{name} is not on every system", name=name)
            if name in seen or (first in seen and not fromlist):
                return seen[first]
        return whole(name, globals, locals, fromlist, level)

    builtins.__import__ = load


def write_as_there():
    """Lines of text end in two letters where nothing else is said; open files stay where they are.

    For all packages alike.
    """
    whole = io.open
    os.linesep = "\r\n"

    def opened(
        file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **more
    ):
        if "b" not in mode:
            encoding = io.text_encoding(encoding)
            if newline is None and set(mode) & set("wax"):
                newline = "\r\n"
        return whole(file, mode, buffering, encoding, errors, newline, *rest, **more)

    builtins.open = io.open = opened
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, unless_open(getattr(os, name), 2 if name.startswith("re") else 1))


def unless_open(move, n_paths):
    def moved(*paths, **options):
        held = {f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")}
        busy = {os.readlink(link) for link in held if os.path.islink(link)}
        for path in paths[:n_paths]:
            if "dir_fd" not in options and os.path.realpath(path) in busy:
                raise PermissionError(13, "it is open", str(path))
        return move(*paths, **options)

    return moved


def main():
    for name in OTHERS:
        importlib.import_module(name)
    hide()
    write_as_there()
    warnings.filterwarnings("error", category=EncodingWarning, module=r"spinlearn(\..*)?$")
    processes = importlib.import_module("spinlearn.core.processes")
    processes._is_running_on_windows = lambda process: os.path.exists(f"/proc/{process}")
    from spinlearn.cli import run

    raised = []
    for task in json.load(sys.stdin):
        try:
            if isinstance(task, str):
                exec(task, {"__name__": "spinlearn.planted"})
            else:
                sys.argv = ["spinlearn", *(os.fsdecode(word.encode()) for word in task)]
                run()
            raised.append(None)
        except SystemExit as left:
            raised.append(f"exit code {left.code}" if left.code else None)
        except Exception as error:
            raised.append(f"{type(error).__name__}: {error}")
    sys.__stdout__.write("\n" + json.dumps(raised) + "\n")


if __name__ == "__main__":
    main()
