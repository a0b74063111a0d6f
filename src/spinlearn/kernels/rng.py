"""Random numbers of the kernels: xoshiro256++ for each walker, a counter for what walkers share.

A group of walkers has one stream, uint64 [17], which kernels change in place:

    words 0 ... 15   xoshiro256++ (Blackman & Vigna, ACM Trans. Math. Softw. 47, 36, 2021). Kernels
                     that move walkers one after the other run one generator, in words 0 ... 3.
                     Kernels that move them in the lanes of vectors run four side by side, state
                     word k of all four in words 4 k ... 4 k + 3. No group mixes the two.
    word 16          a counter, whose splitmix64 hash (Steele, Lea & Flood, OOPSLA 2014) gives what
                     all lanes share: which region, which proposal, which visit to leave out.

Why the counter, and not one more draw: in vector kernels the 16 words live in vector registers, and
a shared number would take a step of all four generators and a move out of a vector register; the
hash takes one scalar register, beside the vector code. Moves between levels and of regions use it
with every kind of walkers, so that one kernel serves all. To draw these numbers otherwise would
change every sampled number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STREAM_WORDS = 17
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # step of the counter, made before every draw from it


def make_stream(seed_sequence):
    """Random state of one group: uint64 [17] from a `numpy.random.SeedSequence`."""
    return seed_sequence.generate_state(STREAM_WORDS, np.uint64)


@njit(cache=True, nogil=True)
def next_bits(s0, s1, s2, s3):
    """One step of xoshiro256++ on uint64 or vectors of four: random bits, the new state."""
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


# Draws of one walker, from one generator


@njit(cache=True, nogil=True)
def next_u64(stream):
    bits, s0, s1, s2, s3 = next_bits(stream[0], stream[1], stream[2], stream[3])
    stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
    return bits


@njit(cache=True, nogil=True)
def uniform(stream):
    """Uniform in [0, 1), 53 bits."""
    return np.float64(next_u64(stream) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def below(stream, bound):
    """Integer 0 ... bound - 1 (bias < bound / 2^32)."""
    return np.int64(((next_u64(stream) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


# Draws that a group shares, from the counter


@njit(cache=True, nogil=True)
def mix64(counter):
    """splitmix64 output of the counter: 64 random bits."""
    z = counter
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform_at(counter):
    """Uniform in [0, 1), 53 bits."""
    return np.float64(mix64(counter) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def below_at(counter, bound):
    """Integer 0 ... bound - 1 (bias < bound / 2^32)."""
    return np.int64(((mix64(counter) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def skips(counter):
    """True once in 16 times: a group of two-state walkers leaves out this node visit.

    A node whose flip costs nothing (no neighbours, or clamped ones that balance) would flip at
    every visit, and all nodes would at beta = 0: walkers would return to where they were after two
    sweeps. Which visits are left out does not depend on states, so the law is kept.
    """
    return mix64(counter) < np.uint64(1 << 60)
