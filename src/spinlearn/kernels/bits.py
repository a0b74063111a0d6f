"""Many walkers at once: as bits of a word, or in step as lanes of a vector.

    accept s -> s' with min(1, exp(-beta_r dE)),    one beta per walker r

All walkers visit the same node at the same step, in the order of `free_nodes` (each step leaves the
law invariant, so a sequential sweep does). What a group shares of a proposal is drawn once per
visit; given it every step is reversible for each walker on its own, so walkers stay exactly
independent. Arrays are flat, C-contiguous and of the exact dtypes named: the vector loads do not
check bounds. Letters: n nodes, m edges, q states, R walkers, T levels, G regions.

bits_*      256 walkers, equal couplings J > 0, no fields, q <= 8. Energies are numbers of cut
            edges; degrees are at most 15. Bit r of every word is walker r: spins[n, P, 4] uint64
            flat, P = bit planes of the state (1 for q = 2, 2 for q <= 4, 3 for q <= 8). Neighbours
            are compared and counted by word operations on 256 walkers at once; the group shares
            the bit pattern of a proposal.
lockstep_*  R walkers, real couplings of either sign, fields, q <= 64. states[n, R] int8 flat, R a
            multiple of 32. Local energies are integers in a small unit, so energies are exact and
            never drift. The group shares the offset of a proposal, its sign is the walker's own.

For q = 2 one visit in 16 is left out, see `rng.skips`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below_at, next_bits, skips, uniform_at
from spinlearn.kernels.simd import (
    any_bit,
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
    sign_bits,
    splat_i8x32,
    splat_i16x16,
    splat_i32x8,
    splat_u64x4,
    store,
    u64x4_to_i8x32,
    u64x4_to_i32x8,
    where,
)

WALKERS = 256  # of a group: four 64-bit words, one AVX2 register
WORDS = 4
MAX_DEGREE = 15  # d + dE fits five planes
PRECISION = 32  # bits of an acceptance probability in bits_metropolis


def plane_count(q):
    """Bit planes that hold a state of ``bits_*`` kernels."""
    return 1 if q == 2 else 2 if q <= 4 else 3


def pack_states(states_rn, q):
    """int array [256, n] of states -> uint64 [n * P * 4], the layout of ``bits_*`` kernels."""
    planes = [((states_rn.T >> p) & 1).astype(np.uint8) for p in range(plane_count(q))]
    packed = np.packbits(np.stack(planes, axis=1), axis=2, bitorder="little")
    return np.ascontiguousarray(packed).ravel().view(np.uint64)


@njit(cache=True, nogil=True)
def unpack_states(spins, n_planes, states):
    """Inverse of `pack_states`, into int8 [256, n]."""
    n = states.shape[1]
    for i in range(n):
        for word in range(4):
            low = spins[(i * n_planes) * 4 + word]
            middle = spins[(i * n_planes + 1) * 4 + word] if n_planes > 1 else np.uint64(0)
            high = spins[(i * n_planes + 2) * 4 + word] if n_planes > 2 else np.uint64(0)
            for bit in range(64):
                b = np.uint64(bit)
                one = np.uint64(1)
                value = ((low >> b) & one) | (((middle >> b) & one) << one)
                value |= ((high >> b) & one) << np.uint64(2)
                states[64 * word + bit, i] = np.int8(value)


def acceptance_digits(betas, max_degree):
    """int32 [T * max_degree]: binary digits of exp(-beta dE), beta in 1 / J, dE = 1, 2, ..."""
    p = np.exp(-np.asarray(betas)[:, None] * np.arange(1, max_degree + 1))
    scaled = np.minimum(p * 2.0**PRECISION, 2.0**PRECISION - 1).astype(np.uint32)
    return scaled.view(np.int32).ravel()


# Bit-sliced building blocks. m0 ... m4 are the planes of M = degree + dE, so 0 <= M <= 30.


@njit(cache=True, nogil=True)
def add_two_bits(c0, c1, c2, c3, c4, x, y):
    """Add bits x and y to the five-plane counter c."""
    half = c0 ^ x
    carry = (c0 & x) | (half & y)
    c0 = half ^ y
    next_carry = c1 & carry
    c1 = c1 ^ carry
    carry = c2 & next_carry
    c2 = c2 ^ next_carry
    next_carry = c3 & carry
    c3 = c3 ^ carry
    c4 = c4 ^ next_carry
    return c0, c1, c2, c3, c4


@njit(cache=True, nogil=True)
def propose_planes(q, offset, a0, a1, a2, direction):
    """Proposed planes b and the mask of walkers whose proposal is a state (all for q = 3, 4, 8)."""
    if q == 3:  # s + 1 or s - 1 mod 3, by the walker's random bit
        is_zero = ~(a0 | a1)
        b0 = (direction & is_zero) | (a1 & ~direction)
        b1 = (direction & a0) | (is_zero & ~direction)
        return b0, b1, a2, ~splat_u64x4(0)
    b0 = a0 ^ splat_u64x4(np.uint64(0) - np.uint64(offset & 1))
    b1 = a1 ^ splat_u64x4(np.uint64(0) - np.uint64((offset >> 1) & 1))
    b2 = a2 ^ splat_u64x4(np.uint64(0) - np.uint64((offset >> 2) & 1))
    valid = ~splat_u64x4(0)
    if q == 5:
        valid = ~(b2 & (b1 | b0))
    elif q == 6:
        valid = ~(b2 & b1)
    elif q == 7:
        valid = ~(b2 & b1 & b0)
    return b0, b1, b2, valid


@njit(cache=True, nogil=True)
def load_generators(stream):
    """The state of the four generators of a stream, as vectors."""
    s0, s1 = load_u64x4(stream, 0), load_u64x4(stream, 4)
    return s0, s1, load_u64x4(stream, 8), load_u64x4(stream, 12)


@njit(cache=True, nogil=True)
def store_generators(stream, s0, s1, s2, s3):
    store(stream, 0, s0)
    store(stream, 4, s1)
    store(stream, 8, s2)
    store(stream, 12, s3)


# Bit-sliced kernels. Array-taking helpers would cost reference counting at every call, hence the
# long bodies.


@njit(cache=True, nogil=True)
def bits_metropolis(spins, q, indptr, neighbors, free_nodes, planes, stream, n_sweeps):
    """Metropolis sweeps of 256 walkers with 2 <= q <= 8 states, each at its own temperature.

    Random bits are compared with the digits of exp(-beta dE) from the top down, until no walker is
    undecided: about log2(256) + 1.3 digits. Proposals are uniform over the other states for q = 2,
    3, 4, 8; for q = 5, 6, 7 over the other seven bit patterns: 3/7, 2/7, 1/7 of them are no state
    and leave the walker as it is. `planes` are from `bits_planes`.
    """
    three_planes = q > 4
    stride = WORDS if q == 2 else 12 if three_planes else 8
    n_offsets = 7 if three_planes else 3
    s0, s1, s2, s3 = load_generators(stream)
    counter = stream[16]
    zero = splat_u64x4(0)
    direction = a1 = a2 = b1 = b2 = x2 = zero
    valid = ~zero
    offset = np.int64(0)
    patterns = np.empty(32 * 5 * WORDS, np.uint64)  # planes of the numbers 0 ... 31
    for value in range(32):
        for plane in range(5):
            digit_of_all = splat_u64x4(np.uint64(0) - np.uint64((value >> plane) & 1))
            store(patterns, (value * 5 + plane) * WORDS, digit_of_all)
    chosen = np.empty(MAX_DEGREE * WORDS, np.uint64)
    step = 2 if q == 2 else 1  # two states: dE has the parity of the degree
    next_class = step * PRECISION * WORDS
    for _ in range(n_sweeps):
        for visit in range(free_nodes.size):
            if q == 2:
                counter += GOLDEN
                if skips(counter):
                    continue
            i = np.int64(free_nodes[visit])
            begin, end = np.int64(indptr[i]), np.int64(indptr[i + 1])
            degree = end - begin
            a0 = load_u64x4(spins, stride * i)
            m0 = m1 = m2 = m3 = m4 = zero
            if q == 2:  # flip: M = 2 (number of equal neighbours)
                edge = begin
                while edge + 1 < end:
                    x = ~(load_u64x4(spins, WORDS * np.int64(neighbors[edge])) ^ a0)
                    y = ~(load_u64x4(spins, WORDS * np.int64(neighbors[edge + 1])) ^ a0)
                    m1, m2, m3, m4, m0 = add_two_bits(m1, m2, m3, m4, m0, x, y)
                    edge += 2
                if edge < end:
                    x = ~(load_u64x4(spins, WORDS * np.int64(neighbors[edge])) ^ a0)
                    m1, m2, m3, m4, m0 = add_two_bits(m1, m2, m3, m4, m0, x, zero)
                m0 = zero
                b0 = ~a0
            else:  # move a -> b: every neighbour adds [equals a] and [differs from b] to M
                a1 = load_u64x4(spins, stride * i + 4)
                if three_planes:
                    a2 = load_u64x4(spins, stride * i + 8)
                if q == 3:
                    direction, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                else:
                    counter += GOLDEN
                    offset = 1 + below_at(counter, n_offsets)
                b0, b1, b2, valid = propose_planes(q, offset, a0, a1, a2, direction)
                for edge in range(begin, end):
                    at = stride * np.int64(neighbors[edge])
                    x0, x1 = load_u64x4(spins, at), load_u64x4(spins, at + 4)
                    if three_planes:
                        x2 = load_u64x4(spins, at + 8)
                    equals_a = ~((x0 ^ a0) | (x1 ^ a1) | (x2 ^ a2))
                    differs_b = (x0 ^ b0) | (x1 ^ b1) | (x2 ^ b2)
                    m0, m1, m2, m3, m4 = add_two_bits(m0, m1, m2, m3, m4, equals_a, differs_b)
            first = 2 - (degree & 1) if q == 2 else 1
            undecided = zero
            n_chosen = 0
            for value in range(degree + first, 2 * degree + 1, step):
                at = value * 5 * WORDS
                differs = (m1 ^ load_u64x4(patterns, at + 4)) | (m2 ^ load_u64x4(patterns, at + 8))
                differs = differs | (m3 ^ load_u64x4(patterns, at + 12))
                differs = differs | (m4 ^ load_u64x4(patterns, at + 16))
                is_value = ~(differs | (m0 ^ load_u64x4(patterns, at)))
                store(chosen, n_chosen, is_value)
                n_chosen += WORDS
                undecided = undecided | is_value
            accepted = ~undecided
            at = (first - 1) * PRECISION * WORDS
            if n_chosen == 2 * WORDS:
                class0, class1 = load_u64x4(chosen, 0), load_u64x4(chosen, 4)
                for _digit in range(PRECISION):
                    draw, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    p = (class0 & load_u64x4(planes, at)) | (
                        class1 & load_u64x4(planes, at + next_class)
                    )
                    accepted = accepted | (undecided & p & ~draw)
                    undecided = undecided & ~(p ^ draw)
                    at += WORDS
                    if not any_bit(undecided):
                        break
            elif n_chosen == 4 * WORDS:
                class0, class1 = load_u64x4(chosen, 0), load_u64x4(chosen, 4)
                class2, class3 = load_u64x4(chosen, 8), load_u64x4(chosen, 12)
                for _digit in range(PRECISION):
                    draw, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    p = (class0 & load_u64x4(planes, at)) | (
                        class1 & load_u64x4(planes, at + next_class)
                    )
                    p = p | (class2 & load_u64x4(planes, at + 2 * next_class))
                    p = p | (class3 & load_u64x4(planes, at + 3 * next_class))
                    accepted = accepted | (undecided & p & ~draw)
                    undecided = undecided & ~(p ^ draw)
                    at += WORDS
                    if not any_bit(undecided):
                        break
            else:
                for digit in range(PRECISION):
                    draw, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    p = zero
                    at = ((first - 1) * PRECISION + digit) * WORDS
                    for j in range(0, n_chosen, WORDS):
                        p = p | (load_u64x4(chosen, j) & load_u64x4(planes, at))
                        at += next_class
                    accepted = accepted | (undecided & p & ~draw)
                    undecided = undecided & ~(p ^ draw)
                    if not any_bit(undecided):
                        break
            accepted = accepted & valid
            store(spins, stride * i, a0 ^ (accepted & (a0 ^ b0)))
            if q > 2:
                store(spins, stride * i + 4, a1 ^ (accepted & (a1 ^ b1)))
                if three_planes:
                    store(spins, stride * i + 8, a2 ^ (accepted & (a2 ^ b2)))
    store_generators(stream, s0, s1, s2, s3)
    stream[16] = counter


@njit(cache=True, nogil=True)
def bits_planes(digits, n_levels, levels, planes):
    """Bit r of the word [dE - 1, b] of `planes` is binary digit b of exp(-beta_r dE)."""
    max_degree = digits.size // n_levels
    octets = planes.view(np.uint8)
    width = splat_i32x8(max_degree)
    for change in range(max_degree):
        for octet in range(WALKERS // 8):
            row = gather_i32x8(digits, load_i32x8(levels, 8 * octet) * width + splat_i32x8(change))
            for digit in range(PRECISION):
                octets[(change * PRECISION + digit) * (WALKERS // 8) + octet] = sign_bits(
                    row << digit
                )


@njit(cache=True, nogil=True)
def bits_energies(spins, n_planes, edges, energies):
    """Energies int64 [256] of the walkers: number of `edges` int32 [m, 2] whose ends differ."""
    total = np.zeros(32 * WORDS, np.uint64)  # planes of the running sums
    zero = splat_u64x4(0)
    stride = n_planes * WORDS
    n_edges = edges.shape[0]
    for start in range(0, n_edges, 30):
        c0 = c1 = c2 = c3 = c4 = zero
        for edge in range(start, min(start + 30, n_edges)):
            u = stride * np.int64(edges[edge, 0])
            v = stride * np.int64(edges[edge, 1])
            differ = load_u64x4(spins, u) ^ load_u64x4(spins, v)
            for at in range(4, stride, 4):
                differ = differ | (load_u64x4(spins, u + at) ^ load_u64x4(spins, v + at))
            c0, c1, c2, c3, c4 = add_two_bits(c0, c1, c2, c3, c4, differ, zero)
        carry = zero
        for plane in range(32):
            addend, c0, c1, c2, c3, c4 = c0, c1, c2, c3, c4, zero
            old = load_u64x4(total, WORDS * plane)
            half = old ^ addend
            store(total, WORDS * plane, half ^ carry)
            carry = (old & addend) | (half & carry)
            if plane > 4 and not any_bit(carry):
                break
    for walker in range(WALKERS):
        energy = np.int64(0)
        for plane in range(32):
            bit = (total[WORDS * plane + (walker >> 6)] >> np.uint64(walker & 63)) & np.uint64(1)
            energy |= np.int64(bit) << plane
        energies[walker] = energy


@njit(cache=True, nogil=True)
def bits_flip_regions(spins, regions, betas, n_tries, cut, accepted_count, stream):
    """Metropolis flips of whole regions for 256 walkers at once, q = 2.

    Regions are fixed sets of free nodes, so every try is reversible. `regions` are the nodes of
    each (where they begin, nodes) and, likewise, the edges of its border; a flip changes these by
    (equal ends) - (different ends). `cut` int64 [256] is scratch, `accepted_count` adds the walkers
    that accepted.
    """
    ptr, nodes, border_ptr, borders = regions
    mask = np.empty(WORDS, np.uint64)
    for _ in range(n_tries):
        counter = stream[16] + GOLDEN
        stream[16] = counter
        region = below_at(counter, ptr.size - 1)
        edges = borders[border_ptr[region] : border_ptr[region + 1]]
        bits_energies(spins, 1, edges, cut)
        n_edges = edges.shape[0]
        for word in range(WORDS):
            bits = np.uint64(0)
            for bit in range(64):
                walker = 64 * word + bit
                change = n_edges - 2 * cut[walker]
                counter += GOLDEN
                if change <= 0 or uniform_at(counter) < np.exp(-betas[walker] * change):
                    bits |= np.uint64(1) << np.uint64(bit)
                    accepted_count[region] += 1
            mask[word] = bits
        stream[16] = counter
        flips = load_u64x4(mask, 0)
        for at in range(ptr[region], ptr[region + 1]):
            i = WORDS * np.int64(nodes[at])
            store(spins, i, load_u64x4(spins, i) ^ flips)


LOG2_E = 1.4426950408889634


def quantize(couplings, indptr, fields=None):
    """Couplings (in CSR order) and fields [n, q] or None as integers in a common unit.

    A coupling is two int16 limbs, J = (high * 2**low_bits + low) * unit: sums over neighbours fit
    int16 limb by limb. Energies are exact integers, and never drift. The unit is a power of two:
    2**-24 of the largest sum at a node, or more where fields are large.
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
    fields = np.empty(0) if fields is None else np.asarray(fields)
    return high, low, low_bits, np.rint(fields / unit).astype(np.int32).ravel(), unit


# Lockstep building blocks: real couplings, any q


@njit(cache=True, nogil=True)
def exp2_f32x8(y):
    """2**y, -126 <= y <= 0, to 2e-7: minimax polynomial of degree 5 on the rounded remainder."""
    whole = f32x8_to_i32x8(y - 0.5)
    f = y - i32x8_to_f32x8(whole)
    f2 = f * f
    high = 0.009671512991189957 + 0.001326472731307149 * f
    middle = 0.24022242426872253 + 0.05550733581185341 * f
    low = 1.0 + 0.6931470036506653 * f
    power = low + f2 * (middle + f2 * high)
    return floats_of(bits_of(power) + (whole << 23))


@njit(cache=True, nogil=True)
def accept_log2(y, draw):
    """Mask of lanes that accept with probability min(1, 2**y), from one 31-bit draw a lane."""
    possible = y > -126.0
    y = where(possible, where(y > 0.0, 0.0, y), -126.0)
    # + 0.5 rounds: probabilities below 2**-32 are never accepted, 1 always
    uniform = i32x8_to_f32x8(draw >> 1) + 0.5
    return (uniform <= exp2_f32x8(y) * 2147483648.0) & possible


# Lockstep kernels


@njit(cache=True, nogil=True)
def lockstep_metropolis(
    states, n_replicas, q, indptr, neighbors, high, low, low_bits, fields, free_nodes,
    log2_rates, stream, n_sweeps,
):  # fmt: skip
    """Metropolis sweeps of R walkers, each at its own temperature.

    Couplings and `fields` are from `quantize`, `log2_rates` float32 [R] = -beta_r * unit * log2(e).
    """
    s0, s1, s2, s3 = load_generators(stream)
    counter = stream[16]
    has_fields = fields.size > 0
    pair = np.empty(64, np.int8)  # of a block of 32 walkers: states, then proposals
    changes, masks = np.empty(32, np.int32), np.empty(32, np.int32)
    n_states = splat_i8x32(q)
    for _ in range(n_sweeps):
        for visit in range(free_nodes.size):
            i = np.int64(free_nodes[visit])
            begin, end = np.int64(indptr[i]), np.int64(indptr[i + 1])
            row = splat_i32x8(i * q)
            counter += GOLDEN
            offset = 1 + below_at(counter, q - 1)
            if q == 2 and skips(counter):
                offset = 0  # proposes the state itself; a branch around the loop was slower
            up, down = splat_i8x32(offset), splat_i8x32(q - offset)
            for at in range(0, n_replicas, 32):
                a = load_i8x32(states, i * n_replicas + at)
                b = a + up
                if q > 2:
                    r, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                    b = a + where(u64x4_to_i8x32(r), up, down)
                b = where(b - n_states, b, b - n_states)  # mod q
                # sums of the two limbs of J over [s_j = a] - [s_j = b]; 0: walkers 0-15 of the
                # block, 1: walkers 16-31
                high0 = high1 = low0 = low1 = splat_i16x16(0)
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
    store_generators(stream, s0, s1, s2, s3)
    stream[16] = counter
