"""Exact sum-product over a tree of buckets, for a block of temperatures at once.

Bucket b eliminates its variable given the states `s` of its separator. Energies are split as

    E(states) - E_min = sum_b excess_b(x_b, s_b),    excess_b(x, s) = e_b(x, s) - min_x' e_b(x', s)
    e_b(x, s) = own terms of b + sum over child buckets c of min_energy_c(s_c)

so every excess is >= 0 and the weights exp(-beta * excess) never overflow. What underflows is
negligible at that place for good, because upward messages are kept as logarithms and the downward
pass only multiplies probabilities. beta = 1/T may be 0 (T = inf) or huge (T = 0): then the messages
count states, and the result is the uniform law over all states or over the ground states.

Upward message of b at s, per temperature t:
    log_count  = ln sum_{configurations below b} exp(-beta_t * excess below)
    mean, variance of the excess below (law of total variance: children are independent given s)
Downward: P(x_b, s) = P(s) * conditional_b(x_b | s).

Layout: separator index s = sum_j digit_j * q^j, digit 0 being the variable of the parent bucket, so
a child's index is `base(s) + x`. Temperatures are the innermost, contiguous axis. Messages live on
a stack (children are consumed by their parent), conditionals are kept for the downward pass.

The states of the lowest digits of a separator form a tile, in which what depends on those digits
alone (energies, child indices) is tabulated once per bucket, and the rest is constant.

All temperatures of a block are handled as one SIMD value (`_Lanes`), whose length is that of the
tuple `lanes`, so every arithmetic expression below means "for each temperature". Numba would leave
inner loops over 8 temperatures scalar: it unrolls them before it could vectorise them, and calls
libm for exp and log. Hence the small vector type and the two elementary functions at the end.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

TILE_STATES = 16  # separator states handled together: enough to hide latencies, all in L1 cache


@njit(cache=True, nogil=True)
def upward(
    lanes,
    first,
    last,
    q,
    betas,
    resolution,
    pair_cost,
    fields,
    sep_ptr,
    sep,
    child_ptr,
    child,
    link_ptr,
    link_digit,
    link_coupling,
    at,
    conditional_at,
    min_energy,
    messages,
    conditional,
):
    """Eliminate buckets first..last-1; fills `conditional`, leaves messages on the stack.

    The message of b is `min_energy[at[b] + s]` and the rows log_count, mean, variance of
    `messages[at[b] + s]`.
    """
    digits, low_digits, strides, bases, offsets = _scratch(first, last, q, sep_ptr, child_ptr)
    n_states = TILE_STATES * q
    low_energy = np.empty(n_states)
    excess = np.empty(n_states)
    weight = np.empty((n_states, len(lanes)))
    mean = np.empty((n_states, len(lanes)))
    variance = np.empty((n_states, len(lanes)))
    beta = _row(lanes, betas, 0)

    for b in range(first, last):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_low, n_tile = _tile(q, k, n_children, digits, low_digits, strides, bases, offsets)
        for i in range(n_tile):
            for x in range(q):
                e = fields[b, x]
                for link in range(link_ptr[b], link_ptr[b + 1]):
                    if link_digit[link] < n_low:
                        e += link_coupling[link] * pair_cost[x, low_digits[i, link_digit[link]]]
                low_energy[i * q + x] = e
        for c in range(n_children):
            bases[c] = at[child[child_ptr[b] + c]]
        cond = conditional_at[b]

        for out in range(at[b], at[b] + q**k, n_tile):
            # Energies, then their excess over the least of each separator state.
            for x in range(q):
                high_energy = 0.0
                for link in range(link_ptr[b], link_ptr[b + 1]):
                    if link_digit[link] >= n_low:
                        high_energy += link_coupling[link] * pair_cost[x, digits[link_digit[link]]]
                for i in range(n_tile):
                    excess[i * q + x] = low_energy[i * q + x] + high_energy
            for c in range(n_children):
                for j in range(n_tile * q):
                    excess[j] += min_energy[bases[c] + offsets[c, j]]
            for i in range(n_tile):
                lowest = excess[i * q]
                for x in range(1, q):
                    lowest = min(lowest, excess[i * q + x])
                min_energy[out + i] = lowest
                for x in range(q):
                    e = excess[i * q + x] - lowest
                    excess[i * q + x] = e if e >= resolution else 0.0

            # Log weight, mean and variance of every clique state: its own and the children's.
            if n_children == 0:
                for j in range(n_tile * q):
                    _set_row(weight, j, -excess[j] * beta)
                    _set_row(mean, j, 0.0 * beta + excess[j])
                    _set_row(variance, j, 0.0 * beta)
            else:
                for j in range(n_tile * q):
                    row = 3 * (bases[0] + offsets[0, j])
                    _set_row(weight, j, _row(lanes, messages, row) - excess[j] * beta)
                    _set_row(mean, j, _row(lanes, messages, row + 1) + excess[j])
                    _set_row(variance, j, _row(lanes, messages, row + 2))
            for c in range(1, n_children):
                for j in range(n_tile * q):
                    row = 3 * (bases[c] + offsets[c, j])
                    _add_to_row(weight, j, _row(lanes, messages, row))
                    _add_to_row(mean, j, _row(lanes, messages, row + 1))
                    _add_to_row(variance, j, _row(lanes, messages, row + 2))

            # The sum over the bucket's own variable.
            if q == 2:
                _sum_of_two(lanes, n_tile, weight, mean, variance, messages, out, conditional, cond)
            else:
                _sum(lanes, n_tile, q, weight, mean, variance, messages, out, conditional, cond)
            cond += n_tile * (q - 1)
            _advance(q, n_low, k, n_children, digits, bases, strides)


@njit(cache=True, nogil=True)
def _sum(lanes, n_tile, q, weight, mean, variance, messages, out, conditional, cond):
    """Messages and conditionals of a tile from the log weights, means and variances of states."""
    for i in range(n_tile):
        top = _row(lanes, weight, i * q)
        for x in range(1, q):
            top = _larger(top, _row(lanes, weight, i * q + x))
        count = 0.0 * top
        for x in range(q):
            w = _exp(_row(lanes, weight, i * q + x) - top)
            _set_row(weight, i * q + x, w)
            count = count + w
        share = 1.0 / count
        mean_all = 0.0 * share
        for x in range(q):
            p = _row(lanes, weight, i * q + x) * share
            _set_row(weight, i * q + x, p)
            mean_all = mean_all + p * _row(lanes, mean, i * q + x)
        variance_all = 0.0 * share
        for x in range(q):
            d = _row(lanes, mean, i * q + x) - mean_all
            inside = _row(lanes, variance, i * q + x)
            variance_all = variance_all + _row(lanes, weight, i * q + x) * (inside + d * d)
        for x in range(q - 1):
            _set_row(conditional, cond + i * (q - 1) + x, _row(lanes, weight, i * q + x))
        _set_row(messages, 3 * (out + i), top + _log(count))
        _set_row(messages, 3 * (out + i) + 1, mean_all)
        _set_row(messages, 3 * (out + i) + 2, variance_all)


@njit(cache=True, nogil=True)
def _sum_of_two(lanes, n_tile, weight, mean, variance, messages, out, conditional, cond):
    """The same for q = 2: one exp, and a variance p0 p1 gap^2 between the two states."""
    for i in range(n_tile):
        log0, log1 = _row(lanes, weight, 2 * i), _row(lanes, weight, 2 * i + 1)
        lead = log0 - log1
        w = _exp(_smaller(lead, 0.0 - lead))
        count = 1.0 + w
        share = 1.0 / count
        _set_row(conditional, cond + i, _where_negative(lead, w * share, share))
        _set_row(weight, 2 * i, _where_negative(lead, share, w * share))
        _set_row(weight, 2 * i + 1, count)
        _set_row(messages, 3 * (out + i), _larger(log0, log1))
    for i in range(n_tile):
        _add_to_row(messages, 3 * (out + i), _log(_row(lanes, weight, 2 * i + 1)))
        p0, p1 = _row(lanes, conditional, cond + i), _row(lanes, weight, 2 * i)
        mean0, mean1 = _row(lanes, mean, 2 * i), _row(lanes, mean, 2 * i + 1)
        inside = p0 * _row(lanes, variance, 2 * i) + p1 * _row(lanes, variance, 2 * i + 1)
        gap = mean1 - mean0
        _set_row(messages, 3 * (out + i) + 1, p0 * mean0 + p1 * mean1)
        _set_row(messages, 3 * (out + i) + 2, inside + p0 * p1 * (gap * gap))


@njit(cache=True, nogil=True)
def downward(
    lanes,
    first,
    last,
    q,
    sep_ptr,
    sep,
    child_ptr,
    child,
    link_ptr,
    link_digit,
    pair_slot,
    at,
    conditional_at,
    conditional,
    separator,
    marginals,
    agreement,
    pairs,
):
    """Spread probabilities from bucket last-1 down to bucket first.

    `separator` is a stack of P(s) per bucket; roots find it preset to one. `pairs` receives
    P(x_b, x_digit) for the links with pair_slot >= 0.
    """
    digits, low_digits, strides, bases, offsets = _scratch(first, last, q, sep_ptr, child_ptr)
    joint = np.empty((TILE_STATES * q, len(lanes)))  # P(x_b, s) in a tile,
    low_joint = np.empty((TILE_STATES * q, len(lanes)))  # summed over the other digits,
    high_joint = np.empty((q, len(lanes)))  # summed over the tile

    for b in range(last - 1, first - 1, -1):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_low, n_tile = _tile(q, k, n_children, digits, low_digits, strides, bases, offsets)
        for c in range(n_children):
            bucket = child[child_ptr[b] + c]
            bases[c] = at[bucket]
            separator[at[bucket] : at[bucket] + q ** (sep_ptr[bucket + 1] - sep_ptr[bucket])] = 0.0
        low_joint[: n_tile * q] = 0.0
        cond = conditional_at[b]

        for own in range(at[b], at[b] + q**k, n_tile):
            for i in range(n_tile):
                p_separator = _row(lanes, separator, own + i)
                rest = p_separator
                for x in range(q - 1):
                    p = p_separator * _row(lanes, conditional, cond + x)
                    rest = rest - p
                    _set_row(joint, i * q + x, p)
                _set_row(joint, i * q + q - 1, _larger(rest, 0.0))  # rounding of the last state
                cond += q - 1
            for c in range(n_children):
                for j in range(n_tile * q):
                    _add_to_row(separator, bases[c] + offsets[c, j], _row(lanes, joint, j))
            for j in range(n_tile * q):
                _add_to_row(low_joint, j, _row(lanes, joint, j))
            for x in range(q):
                p = _row(lanes, joint, x)
                for i in range(1, n_tile):
                    p = p + _row(lanes, joint, i * q + x)
                _set_row(high_joint, x, p)
            for link in range(link_ptr[b], link_ptr[b + 1]):
                if link_digit[link] >= n_low:
                    y = digits[link_digit[link]]
                    _add_to_row(agreement, link, _row(lanes, high_joint, y))
                    if pair_slot[link] >= 0:
                        for x in range(q):
                            row = (pair_slot[link] * q + x) * q + y
                            _add_to_row(pairs, row, _row(lanes, high_joint, x))
            _advance(q, n_low, k, n_children, digits, bases, strides)

        for i in range(n_tile):
            for x in range(q):
                _add_to_row(marginals, b * q + x, _row(lanes, low_joint, i * q + x))
            for link in range(link_ptr[b], link_ptr[b + 1]):
                if link_digit[link] < n_low:
                    y = low_digits[i, link_digit[link]]
                    _add_to_row(agreement, link, _row(lanes, low_joint, i * q + y))
                    if pair_slot[link] >= 0:
                        for x in range(q):
                            row = (pair_slot[link] * q + x) * q + y
                            _add_to_row(pairs, row, _row(lanes, low_joint, i * q + x))


@njit(cache=True, nogil=True)
def _scratch(first, last, q, sep_ptr, child_ptr):
    """Digits of a separator and of tile states; strides, index and tile offsets of the children."""
    max_k, max_children = 1, 1
    for b in range(first, last):
        max_k = max(max_k, sep_ptr[b + 1] - sep_ptr[b])
        max_children = max(max_children, child_ptr[b + 1] - child_ptr[b])
    return (
        np.empty(max_k, np.int64),
        np.empty((TILE_STATES, max_k), np.int64),
        np.empty((max_children, max_k), np.int64),
        np.empty(max_children, np.int64),
        np.empty((max_children, TILE_STATES * q), np.int64),
    )


@njit(cache=True, nogil=True)
def _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides):
    """Step of every child's separator index when digit j of bucket b's separator goes up by one."""
    for c in range(child_ptr[b + 1] - child_ptr[b]):
        for j in range(k):
            strides[c, j] = 0
        bucket = child[child_ptr[b] + c]
        stride = q  # digit 0 of the child is b's own variable
        j = 0
        for i in range(sep_ptr[bucket] + 1, sep_ptr[bucket + 1]):
            while sep[sep_ptr[b] + j] != sep[i]:
                j += 1
            strides[c, j] = stride
            stride *= q


@njit(cache=True, nogil=True)
def _tile(q, k, n_children, digits, low_digits, strides, bases, offsets):
    """Number of lowest digits in a tile, and of their states.

    Tabulates those digits per state, and the children's offsets per state and own value.
    """
    n_low, n_tile = 0, 1
    while n_low < k and n_tile * q <= TILE_STATES:
        n_low += 1
        n_tile *= q
    for j in range(k):
        digits[j] = 0
    for c in range(n_children):
        bases[c] = 0
    for i in range(n_tile):
        for j in range(n_low):
            low_digits[i, j] = digits[j]
        for c in range(n_children):
            for x in range(q):
                offsets[c, i * q + x] = bases[c] + x
        _advance(q, 0, n_low, n_children, digits, bases, strides)
    return n_low, n_tile


@njit(cache=True, nogil=True)
def _advance(q, begin, end, n_children, digits, bases, strides):
    """Odometer of the digits begin..end-1 that carries the children's indices along."""
    for j in range(begin, end):
        digits[j] += 1
        if digits[j] < q:
            for c in range(n_children):
                bases[c] += strides[c, j]
            return
        digits[j] = 0
        for c in range(n_children):
            bases[c] -= (q - 1) * strides[c, j]


# Elementary functions, accurate to 1 ulp: fdlibm's reductions, branch-free.

_ROUND = 1.5 * 2.0**52  # x + _ROUND has round(x) in its lowest bits
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exp of less is not a normal number, and taken as 0


@njit(cache=True, nogil=True)
def _exp(x):
    """exp(x) = 2^n exp(r), |r| < 0.35, for x <= 0; exactly 0 for x < -708, -inf included."""
    y = _larger(x, _LOWEST)
    rounded = _multiply_add(y, 1.4426950408889634, _ROUND)
    n = rounded - _ROUND
    r = _multiply_add(n, -_LN2_LOW, _multiply_add(n, -_LN2_HIGH, y))
    p = _multiply_add(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)  # sum_n r^n/(n + 2)!, up to n = 11
    p = _multiply_add(r, p, 1.0 / 39916800.0)
    p = _multiply_add(r, p, 1.0 / 3628800.0)
    p = _multiply_add(r, p, 1.0 / 362880.0)
    p = _multiply_add(r, p, 1.0 / 40320.0)
    p = _multiply_add(r, p, 1.0 / 5040.0)
    p = _multiply_add(r, p, 1.0 / 720.0)
    p = _multiply_add(r, p, 1.0 / 120.0)
    p = _multiply_add(r, p, 1.0 / 24.0)
    p = _multiply_add(r, p, 1.0 / 6.0)
    p = _multiply_add(r, p, 0.5)
    exp_r = _multiply_add(r * r, p, r) + 1.0
    return _where_negative(x - _LOWEST, 0.0, _times_power_of_two(exp_r, rounded))


@njit(cache=True, nogil=True)
def _log(x):
    """ln(x) = n ln 2 + ln(1 + f), 1 + f in [0.71, 1.41), for x >= 1; fdlibm's polynomial."""
    n = _exponent(x)
    f = _significand(x) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = _multiply_add(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    p = _multiply_add(z, p, 1.818357216161805012e-01)
    p = _multiply_add(z, p, 2.222219843214978396e-01)
    p = _multiply_add(z, p, 2.857142874366239149e-01)
    p = _multiply_add(z, p, 3.999999999940941908e-01)
    p = _multiply_add(z, p, 6.666666666666735130e-01)
    half = 0.5 * f * f
    tail = _multiply_add(s, _multiply_add(z, p, half), n * _LN2_LOW)
    return n * _LN2_HIGH - ((half - tail) - f)


# One SIMD value for all temperatures of a block.


class _Lanes(types.Type):
    """`length` float64 numbers in vector registers; arithmetic with scalars broadcasts."""

    def __init__(self, length):
        self.length = length
        super().__init__(name=f"Lanes({length})")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), fe_type.length))


def _broadcast(context, builder, value, fe_type, length):
    if isinstance(fe_type, _Lanes):
        return value
    number = context.cast(builder, value, fe_type, types.float64)
    vector = ir.VectorType(ir.DoubleType(), length)
    position = ir.IntType(32)(0)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, position)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), length), [0] * length)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), everywhere)


def _define_arithmetic(function, instruction):
    """a `function` b lane by lane; division is IEEE, without Python's check for zero."""

    @infer_global(function)
    class _Arithmetic(AbstractTemplate):
        def generic(self, args, kws):
            lanes = [a for a in args if isinstance(a, _Lanes)]
            if len(args) == 2 and lanes and all(isinstance(a, _Lanes | types.Float) for a in args):
                return signature(lanes[0], *args)
            return None

    def lower(context, builder, sig, args):
        length = sig.return_type.length
        a, b = (
            _broadcast(context, builder, value, fe_type, length)
            for value, fe_type in zip(args, sig.args, strict=True)
        )
        return getattr(builder, instruction)(a, b)

    for pair in ((_Lanes, _Lanes), (_Lanes, types.Float), (types.Float, _Lanes)):
        lower_builtin(function, *pair)(lower)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define_arithmetic(_function, _instruction)


def _row_pointer(context, builder, array_type, array, row, length):
    """Address of row `row` of a C-contiguous array whose last axis are the lanes."""
    data = context.make_array(array_type)(context, builder, array).data
    offset = builder.mul(row, row.type(length))
    pointer = builder.gep(data, [offset])
    return builder.bitcast(pointer, ir.VectorType(ir.DoubleType(), length).as_pointer())


@intrinsic
def _row(typingctx, lanes, array, row):
    """Row number `row` of an array (..., lanes), all leading axes counted as one."""
    length = len(lanes)

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[2], sig.args[2], types.intp)
        pointer = _row_pointer(context, builder, sig.args[1], args[1], index, length)
        return builder.load(pointer, align=8)

    return _Lanes(length)(lanes, array, row), codegen


@intrinsic
def _set_row(typingctx, array, row, value):
    """Store `value` as row number `row` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = _row_pointer(context, builder, sig.args[0], args[0], index, value.length)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.none(array, row, value), codegen


@intrinsic
def _add_to_row(typingctx, array, row, value):
    """Add `value` to row number `row` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = _row_pointer(context, builder, sig.args[0], args[0], index, value.length)
        builder.store(builder.fadd(builder.load(pointer, align=8), args[2]), pointer, align=8)
        return context.get_dummy_value()

    return types.none(array, row, value), codegen


@intrinsic
def _multiply_add(typingctx, a, b, c):
    """a b + c, in one instruction where the processor has it; b and c may be numbers."""

    def codegen(context, builder, sig, args):
        vectors = [
            _broadcast(context, builder, value, fe_type, a.length)
            for value, fe_type in zip(args, sig.args, strict=True)
        ]
        kind = vectors[0].type
        name = f"llvm.fmuladd.v{a.length}f64"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, (kind, kind, kind)), name
        )
        return builder.call(function, vectors)

    return a(a, b, c), codegen


@intrinsic
def _smaller(typingctx, a, b):
    """min(a, b) lane by lane; b may be a number."""

    def codegen(context, builder, sig, args):
        other = _broadcast(context, builder, args[1], sig.args[1], a.length)
        return builder.select(builder.fcmp_ordered("<", args[0], other), args[0], other)

    return a(a, b), codegen


@intrinsic
def _larger(typingctx, a, b):
    """max(a, b) lane by lane; b may be a number."""

    def codegen(context, builder, sig, args):
        other = _broadcast(context, builder, args[1], sig.args[1], a.length)
        return builder.select(builder.fcmp_ordered(">", args[0], other), args[0], other)

    return a(a, b), codegen


@intrinsic
def _where_negative(typingctx, sign, a, b):
    """a where sign < 0, else b; a may be a number."""

    def codegen(context, builder, sig, args):
        negative = builder.fcmp_ordered(
            "<", args[0], ir.Constant(args[0].type, [0.0] * sign.length)
        )
        value = _broadcast(context, builder, args[1], sig.args[1], sign.length)
        return builder.select(negative, value, args[2])

    return b(sign, a, b), codegen


def _bits(builder, value, length):
    return builder.bitcast(value, ir.VectorType(ir.IntType(64), length))


def _same(number, length):
    return ir.Constant(ir.VectorType(ir.IntType(64), length), [number] * length)


@intrinsic
def _times_power_of_two(typingctx, x, rounded):
    """x 2^n, where the lowest bits of `rounded` are the integer n; x 2^n must be normal."""

    def codegen(context, builder, sig, args):
        n = builder.shl(_bits(builder, args[1], x.length), _same(52, x.length))
        return builder.bitcast(builder.add(_bits(builder, args[0], x.length), n), args[0].type)

    return x(x, rounded), codegen


_SQRT_HALF_BITS = int(np.array(np.sqrt(0.5)).view(np.int64))
_TWO_52_BITS = int(np.array(2.0**52).view(np.int64))


@intrinsic
def _exponent(typingctx, x):
    """n of x = 2^n m with m in [sqrt(1/2), sqrt(2)), for x >= 1."""

    def codegen(context, builder, sig, args):
        above = builder.sub(_bits(builder, args[0], x.length), _same(_SQRT_HALF_BITS, x.length))
        n = builder.lshr(above, _same(52, x.length))
        # n in the lowest bits of 2^52 makes the number 2^52 + n
        shifted = builder.bitcast(builder.add(n, _same(_TWO_52_BITS, x.length)), args[0].type)
        return builder.fsub(shifted, ir.Constant(args[0].type, [2.0**52] * x.length))

    return x(x), codegen


@intrinsic
def _significand(typingctx, x):
    """m of x = 2^n m with m in [sqrt(1/2), sqrt(2)), for x >= 1."""

    def codegen(context, builder, sig, args):
        bits = _bits(builder, args[0], x.length)
        above = builder.sub(bits, _same(_SQRT_HALF_BITS, x.length))
        fraction = builder.and_(above, _same((1 << 52) - 1, x.length))
        m = builder.add(fraction, _same(_SQRT_HALF_BITS, x.length))
        return builder.bitcast(m, args[0].type)

    return x(x), codegen
