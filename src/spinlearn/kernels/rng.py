"""Random numbers of the kernels: vectors of xoshiro256++ and a splitmix64 counter per group."""

from __future__ import annotations

import numpy as np
from numba import njit

STREAM_WORDS = 17  # uint64 of a stream: 4 lanes of xoshiro256++ and one splitmix64 counter


def make_stream(seed_sequence):
    """Random state of one group: uint64 [17] from a `numpy.random.SeedSequence`."""
    return seed_sequence.generate_state(STREAM_WORDS, np.uint64)


@njit(cache=True, nogil=True)
def next_u64x4(s0, s1, s2, s3):
    """One step of four xoshiro256++ generators: 256 random bits and the new state.

    Blackman & Vigna, ACM Trans. Math. Softw. 47, 36 (2021).
    """
    total = s0 + s3
    result = ((total << 23) | (total >> 41)) + s0
    shifted = s1 << 17
    s2 = s2 ^ s0
    s3 = s3 ^ s1
    s1 = s1 ^ s2
    s0 = s0 ^ s3
    s2 = s2 ^ shifted
    s3 = (s3 << 45) | (s3 >> 19)
    return result, s0, s1, s2, s3


@njit(cache=True, nogil=True)
def mix64(counter):
    """splitmix64 output of the counter."""
    z = counter
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def below(counter, bound):
    """Random integer 0 ... bound - 1 that a whole group shares."""
    return np.int64(((mix64(counter) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def skips(counter):
    """True once in 16 times: a group of two-state walkers leaves out this node visit.

    A node whose flip costs nothing (no neighbours, or clamped ones that balance) would flip at
    every visit, and all nodes would at beta = 0: walkers would return to where they were after two
    sweeps. Which visits are left out does not depend on states, so the law is kept.
    """
    return mix64(counter) < np.uint64(1 << 60)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64's increment
