"""`python -m spinlearn` is the command line."""

from spinlearn.cli import app

app()
