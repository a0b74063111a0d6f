"""`python -m spinlearn` is the command line."""

from spinlearn.cli import run

run()
