"""Lockstep single-node sweeps: R walkers, real couplings of either sign, fields, q <= 64.

    accept s -> s' with min(1, exp(-beta_r dE)),    one beta per walker r

states[n, R] int8 flat, R a multiple of 32; all walkers visit the same node at the same step. Local
energies are integers in a small unit, so energies are exact and never drift. The offset of a
proposal is drawn once per node visit for the whole group, its sign per walker; given it every step
is reversible for each walker on its own. For q = 2 one visit in 16 is left out, see `rng.skips`.

Arrays are flat, C-contiguous and of the exact dtypes named: the vector loads do not check bounds.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below_at, next_bits, skips
from spinlearn.kernels.simd import (
    bits_of,
    f32x8_to_i32x8,
    floats_of,
    gather_i32x8,
    high_i16x16,
    high_i32x8,
    i32x8_to_f32x8,
    join_i8x32,
    load_f32x8,
    load_i8_i32x8,
    load_i8x32,
    load_i32x8,
    load_u64x4,
    low_i16x16,
    low_i32x8,
    splat_f32x8,
    splat_i8x32,
    splat_i16x16,
    splat_i32x8,
    store,
    u64x4_to_i8x32,
    u64x4_to_i32x8,
    where,
)

LOG2_E = 1.4426950408889634


def quantize(couplings, indptr, fields=None):
    """Couplings and fields as integers in a common unit, a power of two.

    A coupling is two int16 limbs, J = (high * 2**low_bits + low) * unit: sums over a node's
    neighbours fit int16 limb by limb. Energies are then exact integers: they never drift and every
    step is exactly reversible.

    Parameters
    ----------
    couplings : float [nnz], in CSR order
    indptr : uint32 [n + 1]
    fields : float [n, q] or None

    Returns
    -------
    high, low : int16 [nnz]
    low_bits : int
    fields : int32 [n * q] or [0]
    unit : float, 2**-24 of the largest sum at a node, or more where fields are large
    """
    couplings = np.asarray(couplings, np.float64)
    degrees = np.diff(indptr.astype(np.int64))
    degree = max(1, int(degrees.max(initial=0)))
    rows = np.repeat(np.arange(len(degrees)), degrees)
    row_sum = np.bincount(rows, np.abs(couplings), minlength=1).max(initial=0.0) or 1.0
    low_bits = max(0, min(9, int(np.log2(32767 / degree))))
    unit = 2.0 ** np.ceil(np.log2(row_sum / (32767 - degree))) / 2**low_bits
    largest_field = 0.0 if fields is None else float(np.abs(fields).max(initial=0.0))
    if largest_field > 0.0:  # changes of a field must fit int32
        unit = max(unit, 2.0 ** np.ceil(np.log2(largest_field / 2**28)))
    total = np.rint(couplings / unit).astype(np.int64)
    high, low = (total >> low_bits).astype(np.int16), (total & (2**low_bits - 1)).astype(np.int16)
    flat = (
        np.empty(0, np.int32)
        if fields is None
        else np.rint(np.asarray(fields) / unit).astype(np.int32).ravel()
    )
    return high, low, low_bits, flat, unit


# Lockstep building blocks: real couplings, any q


@njit(cache=True, nogil=True)
def exp2_f32x8(y):
    """2**y for -126 <= y <= 0, relative error below 2e-7.

    Minimax polynomial of degree 5 on the rounded remainder.
    """
    whole = f32x8_to_i32x8(y - splat_f32x8(0.5))
    f = y - i32x8_to_f32x8(whole)
    f2 = f * f
    high = splat_f32x8(0.009671512991189957) + splat_f32x8(0.001326472731307149) * f
    middle = splat_f32x8(0.24022242426872253) + splat_f32x8(0.05550733581185341) * f
    low = splat_f32x8(1.0) + splat_f32x8(0.6931470036506653) * f
    power = low + f2 * (middle + f2 * high)
    return floats_of(bits_of(power) + (whole << 23))


@njit(cache=True, nogil=True)
def accept_log2(y, draw):
    """Mask of lanes that accept with probability min(1, 2**y), from one 31-bit draw a lane."""
    zero = splat_f32x8(0.0)
    lowest = splat_f32x8(-126.0)
    possible = y > lowest
    y = where(y > zero, zero, y)
    y = where(possible, y, lowest)
    # + 0.5 rounds: probabilities below 2**-32 are never accepted, 1 always
    uniform = i32x8_to_f32x8(draw >> 1) + splat_f32x8(0.5)
    return (uniform <= exp2_f32x8(y) * splat_f32x8(2147483648.0)) & possible


# Lockstep kernels


@njit(cache=True, nogil=True)
def lockstep_metropolis(
    states, n_replicas, q, indptr, neighbors, high, low, low_bits, fields, free_nodes,
    log2_rates, stream, n_sweeps,
):  # fmt: skip
    """Metropolis sweeps of R walkers, each at its own temperature, with real couplings and fields.

    Parameters
    ----------
    states : int8 [n * R], changed in place
    n_replicas : R, a multiple of 32
    indptr, neighbors : uint32, CSR
    high, low, low_bits : couplings of the CSR entries in units, from `quantize`
    fields : int32 [n * q] in units, or empty if there are none
    free_nodes : uint32, visited in this order
    log2_rates : float32 [R], -beta_r * unit * log2(e)
    stream : uint64 [17], changed in place
    """
    s0 = load_u64x4(stream, 0)
    s1 = load_u64x4(stream, 4)
    s2 = load_u64x4(stream, 8)
    s3 = load_u64x4(stream, 12)
    counter = stream[16]
    has_fields = fields.size > 0
    pair = np.empty(64, np.int8)  # of a block of 32 walkers: states, then proposals
    changes = np.empty(32, np.int32)
    masks = np.empty(32, np.int32)
    n_states = splat_i8x32(q)
    for _ in range(n_sweeps):
        for visit in range(free_nodes.size):
            i = np.int64(free_nodes[visit])
            begin = np.int64(indptr[i])
            end = np.int64(indptr[i + 1])
            row = splat_i32x8(i * q)
            counter += GOLDEN
            offset = 1 + below_at(counter, q - 1)
            if q == 2 and skips(counter):
                offset = 0  # proposes the state itself; a branch around the loop was slower
            up = splat_i8x32(offset)
            down = splat_i8x32(q - offset)
            for at in range(0, n_replicas, 32):
                a = load_i8x32(states, i * n_replicas + at)
                b = a + up
                if q > 2:
                    r, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    b = a + where(u64x4_to_i8x32(r), up, down)
                b = where(b - n_states, b, b - n_states)  # mod q
                # sums of the two limbs of J over [s_j = a] - [s_j = b]; 0: walkers 0-15 of the
                # block, 1: walkers 16-31
                high0 = splat_i16x16(0)
                high1 = high0
                low0 = high0
                low1 = high0
                for edge in range(begin, end):
                    s = load_i8x32(states, np.int64(neighbors[edge]) * n_replicas + at)
                    sign = (s == b) - (s == a)  # a mask is -1 where true
                    sign0 = low_i16x16(sign)
                    sign1 = high_i16x16(sign)
                    limb = splat_i16x16(high[edge])
                    high0 = high0 + sign0 * limb
                    high1 = high1 + sign1 * limb
                    limb = splat_i16x16(low[edge])
                    low0 = low0 + sign0 * limb
                    low1 = low1 + sign1 * limb
                store(changes, 0, (low_i32x8(high0) << low_bits) + low_i32x8(low0))
                store(changes, 8, (high_i32x8(high0) << low_bits) + high_i32x8(low0))
                store(changes, 16, (low_i32x8(high1) << low_bits) + low_i32x8(low1))
                store(changes, 24, (high_i32x8(high1) << low_bits) + high_i32x8(low1))
                if has_fields:
                    store(pair, 0, a)
                    store(pair, 32, b)
                for part in range(0, 32, 8):
                    change = load_i32x8(changes, part)
                    if has_fields:
                        change = change + gather_i32x8(fields, row + load_i8_i32x8(pair, 32 + part))
                        change = change - gather_i32x8(fields, row + load_i8_i32x8(pair, part))
                    r, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    exponent = i32x8_to_f32x8(change) * load_f32x8(log2_rates, at + part)
                    accepted = accept_log2(exponent, u64x4_to_i32x8(r))
                    store(masks, part, accepted)
                accepted_block = join_i8x32(
                    load_i32x8(masks, 0),
                    load_i32x8(masks, 8),
                    load_i32x8(masks, 16),
                    load_i32x8(masks, 24),
                )
                store(states, i * n_replicas + at, where(accepted_block, b, a))
    store(stream, 0, s0)
    store(stream, 4, s1)
    store(stream, 8, s2)
    store(stream, 12, s3)
    stream[16] = counter
