"""Damaged files of every kind that is read: each must give a clear line or the right answer.

python -m tests.fuzz --mutations 20000        as `make fuzz` does
"""
