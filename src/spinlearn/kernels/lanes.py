"""Lanes: float64 numbers of one block of temperatures as a single SIMD value, with exp and log.

LLVM does not vectorise libm's exp and log; these are branch-free and accurate to 1 ulp.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

# Elementary functions, accurate to 1 ulp: fdlibm's reductions, branch-free.

_ROUND = 1.5 * 2.0**52  # x + _ROUND has round(x) in its lowest bits
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exp of less is not a normal number, and taken as 0


@njit(cache=True, nogil=True)
def exp(x):
    """exp(x) = 2^n exp(r), |r| < 0.35, for x <= 0; exactly 0 for x < -708, -inf included."""
    y = larger(x, _LOWEST)
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
    return where_negative(x - _LOWEST, 0.0, _times_power_of_two(exp_r, rounded))


@njit(cache=True, nogil=True)
def log(x):
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


class Lanes(types.Type):
    """`length` float64 numbers in vector registers; arithmetic with scalars broadcasts."""

    def __init__(self, length):
        self.length = length
        super().__init__(name=f"Lanes({length})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), fe_type.length))


def _broadcast(context, builder, value, fe_type, length):
    if isinstance(fe_type, Lanes):
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
            lanes = [a for a in args if isinstance(a, Lanes)]
            if len(args) == 2 and lanes and all(isinstance(a, Lanes | types.Float) for a in args):
                return signature(lanes[0], *args)
            return None

    def lower(context, builder, sig, args):
        length = sig.return_type.length
        a, b = (
            _broadcast(context, builder, value, fe_type, length)
            for value, fe_type in zip(args, sig.args, strict=True)
        )
        return getattr(builder, instruction)(a, b)

    for pair in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
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
def row_of(typingctx, lanes, array, row):
    """Row number `row` of an array (..., lanes), all leading axes counted as one."""
    length = len(lanes)

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[2], sig.args[2], types.intp)
        pointer = _row_pointer(context, builder, sig.args[1], args[1], index, length)
        return builder.load(pointer, align=8)

    return Lanes(length)(lanes, array, row), codegen


@intrinsic
def set_row(typingctx, array, row, value):
    """Store `value` as row number `row` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = _row_pointer(context, builder, sig.args[0], args[0], index, value.length)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.none(array, row, value), codegen


@intrinsic
def add_to_row(typingctx, array, row, value):
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
def smaller(typingctx, a, b):
    """min(a, b) lane by lane; b may be a number."""

    def codegen(context, builder, sig, args):
        other = _broadcast(context, builder, args[1], sig.args[1], a.length)
        return builder.select(builder.fcmp_ordered("<", args[0], other), args[0], other)

    return a(a, b), codegen


@intrinsic
def larger(typingctx, a, b):
    """max(a, b) lane by lane; b may be a number."""

    def codegen(context, builder, sig, args):
        other = _broadcast(context, builder, args[1], sig.args[1], a.length)
        return builder.select(builder.fcmp_ordered(">", args[0], other), args[0], other)

    return a(a, b), codegen


@intrinsic
def where_negative(typingctx, sign, a, b):
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
