"""SIMD vectors in Numba: the type, rows of arrays, exp and log.

Numba has no vector types, and LLVM's auto-vectoriser gives up on early exits, bit masks, gathers
and short inner loops. A ``Vec`` is a Numba value whose machine type is an LLVM vector, so LLVM
emits AVX2 where it exists and splits the same code for SSE or NEON elsewhere: results are
bit-identical on every machine (no fastmath; no fused multiply-add but the one of `multiply_add`).
Vecs live only inside kernels; they are never kernel arguments, so ``cache=True`` works as usual.

Operators: ``+ - *`` lane by lane, ``/`` on floats (IEEE, without Python's check for zero),
``& | ^ ~`` on integers, ``<< >>`` by an integer (logical shift); ``< > == <= >=`` give all-ones /
zero integer masks of the same shape. A number beside a Vec stands in every lane.

Rows of float arrays: the last axis are the lanes, the others are counted as one. Arrays of float32
are read into and written from vectors of float64: half the memory, the same arithmetic. Packed
arrays have fewer columns than there are lanes: no memory for lanes that stand for nothing.

exp and log of vectors of float64: LLVM does not vectorise libm's. These are branch-free and
accurate to 1 ulp, by fdlibm's reductions.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

NUMBERS = {
    "i64": types.uint64,
    "i32": types.int32,
    "i16": types.int16,
    "i8": types.int8,
    "f64": types.float64,
    "f32": types.float32,
}


class Vec(types.Type):
    """Numba type of ``lanes`` integers (kind 'i') or floats (kind 'f') of ``bits`` bits."""

    def __init__(self, kind, bits, lanes):
        self.kind, self.bits, self.lanes = kind, bits, lanes
        super().__init__(name=f"Vec({kind}{bits}x{lanes})")

    @property
    def number(self):
        """Numba type of one lane."""
        return NUMBERS[f"{self.kind}{self.bits}"]

    @property
    def llvm(self):
        if self.kind == "i":
            return ir.VectorType(ir.IntType(self.bits), self.lanes)
        return ir.VectorType(ir.DoubleType() if self.bits == 64 else ir.FloatType(), self.lanes)

    @property
    def mask(self):
        """Type of the all-ones / zero masks that comparisons of this type give."""
        return Vec("i", self.bits, self.lanes)


@register_model(Vec)
class _VecModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.llvm)


U64X4 = Vec("i", 64, 4)
I32X8 = Vec("i", 32, 8)
F32X8 = Vec("f", 32, 8)
I16X16 = Vec("i", 16, 16)
I8X32 = Vec("i", 8, 32)


def _splat(builder, scalar, vec):
    zero = ir.Constant(ir.IntType(32), 0)
    one_lane = builder.insert_element(ir.Constant(vec.llvm, ir.Undefined), scalar, zero)
    return builder.shuffle_vector(
        one_lane,
        ir.Constant(vec.llvm, ir.Undefined),
        ir.Constant(ir.VectorType(ir.IntType(32), vec.lanes), [0] * vec.lanes),
    )


def _common(*operands):
    """The Vec type of operands of which some may be numbers of its kind; None if there is none."""
    vecs = [operand for operand in operands if isinstance(operand, Vec)]
    if not vecs or any(vec != vecs[0] for vec in vecs):
        return None
    numbers = types.Integer if vecs[0].kind == "i" else types.Float
    fits = all(isinstance(operand, Vec | numbers) for operand in operands)
    return vecs[0] if fits else None


def _in_lanes(context, builder, vec, kinds, values):
    """The values, of which numbers are put in every lane of the type `vec`."""
    return [
        value
        if isinstance(kind, Vec)
        else _splat(builder, context.cast(builder, value, kind, vec.number), vec)
        for kind, value in zip(kinds, values, strict=True)
    ]


def _define_operator(op, build, result):
    """Define an operator: the type `result(vec)`, or None, and `build(builder, vec, a, b)`."""

    @type_callable(op)
    def typing(context):
        def typer(a, b):
            vec = _common(a, b)
            return None if vec is None else result(vec)

        return typer

    def lowering(context, builder, sig, args):
        vec = _common(*sig.args)
        return build(builder, vec, *_in_lanes(context, builder, vec, sig.args, args))

    for operands in ((Vec, Vec), (Vec, types.Number), (types.Number, Vec)):
        lower_builtin(op, *operands)(lowering)


for _op, _names in (
    (operator.add, {"i": "add", "f": "fadd"}),
    (operator.sub, {"i": "sub", "f": "fsub"}),
    (operator.mul, {"i": "mul", "f": "fmul"}),
    (operator.truediv, {"f": "fdiv"}),
    (operator.and_, {"i": "and_"}),
    (operator.or_, {"i": "or_"}),
    (operator.xor, {"i": "xor"}),
    (operator.lshift, {"i": "shl"}),
    (operator.rshift, {"i": "lshr"}),
):
    _define_operator(
        _op,
        lambda builder, vec, a, b, names=_names: getattr(builder, names[vec.kind])(a, b),
        lambda vec, names=_names: vec if vec.kind in names else None,
    )


def _compare(symbol):
    def build(builder, vec, a, b):
        compare = builder.icmp_signed if vec.kind == "i" else builder.fcmp_ordered
        return builder.sext(compare(symbol, a, b), vec.mask.llvm)

    return build


for _op, _symbol in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _define_operator(_op, _compare(_symbol), lambda vec: vec.mask)


@type_callable(operator.invert)
def _type_invert(context):
    return lambda a: a if isinstance(a, Vec) and a.kind == "i" else None


@lower_builtin(operator.invert, Vec)
def _lower_invert(context, builder, sig, args):
    return builder.not_(args[0])


def element_pointer(context, builder, array_type, array, index, index_type, llvm_type):
    """Address of ``array[index]`` of a flat view of the array, as that of an LLVM type."""
    data = context.make_array(array_type)(context, builder, array).data
    offset = context.cast(builder, index, index_type, types.intp)
    return builder.bitcast(builder.gep(data, [offset]), llvm_type.as_pointer())


def _define_load(stored, vec):
    @intrinsic
    def load(typingctx, array, index):
        """Lanes ``array[index : index + lanes]``: flat, contiguous; narrow integers are widened.

        With their sign, if their type has one.
        """

        def codegen(context, builder, sig, args):
            pointer = element_pointer(
                context, builder, sig.args[0], args[0], args[1], sig.args[1], stored.llvm
            )
            value = builder.load(pointer, align=stored.bits // 8)
            if stored == vec:
                return value
            widen = builder.sext if array.dtype.signed else builder.zext
            return widen(value, vec.llvm)

        return vec(array, index), codegen

    return load


def _define_splat(vec):
    @intrinsic
    def splat(typingctx, scalar):

        def codegen(context, builder, sig, args):
            return _in_lanes(context, builder, vec, sig.args, args)[0]

        return vec(scalar), codegen

    return splat


load_u64x4, load_i32x8, load_f32x8, load_i8x32, load_i8_i32x8, load_i16_i32x8 = (
    _define_load(stored, vec)
    for stored, vec in (
        (U64X4, U64X4),
        (I32X8, I32X8),
        (F32X8, F32X8),
        (I8X32, I8X32),
        (Vec("i", 8, 8), I32X8),
        (Vec("i", 16, 8), I32X8),
    )
)
splat_u64x4, splat_i32x8, splat_i16x16, splat_i8x32 = (
    _define_splat(vec) for vec in (U64X4, I32X8, I16X16, I8X32)
)


@intrinsic
def store(typingctx, array, index, vec):
    """Write the lanes to ``array[index : index + lanes]``: flat, contiguous, same element width."""

    def codegen(context, builder, sig, args):
        pointer = element_pointer(
            context, builder, sig.args[0], args[0], args[1], sig.args[1], vec.llvm
        )
        builder.store(args[2], pointer).align = vec.bits // 8
        return context.get_dummy_value()

    return types.void(array, index, vec), codegen


def _negative(builder, vec, value):
    """Which lanes of integers have their sign bit set."""
    return builder.icmp_signed("<", value, ir.Constant(vec.llvm, [0] * vec.lanes))


@intrinsic
def where(typingctx, mask, yes, no):
    """Lanes of ``yes`` where the mask's sign bit is set, else of ``no``; one may be a number."""
    vec = _common(yes, no)

    def codegen(context, builder, sig, args):
        both = _in_lanes(context, builder, vec, sig.args[1:], args[1:])
        return builder.select(_negative(builder, mask, args[0]), *both)

    return vec(mask, yes, no), codegen


@njit(cache=True, nogil=True)
def smaller(a, b):
    return where(a < b, a, b)


@njit(cache=True, nogil=True)
def larger(a, b):
    return where(a > b, a, b)


def _of_vec(result, build):
    """An intrinsic of one Vec: of the type `result(vec)`, made by `build(builder, vec, value)`."""

    @intrinsic
    def function(typingctx, vec):
        def codegen(context, builder, sig, args):
            return build(builder, vec, args[0])

        return result(vec)(vec), codegen

    function.__doc__ = build.__doc__
    return function


def _any_bit(builder, vec, value):
    """True if any bit of the vector is set."""
    wide = ir.IntType(vec.bits * vec.lanes)
    return builder.icmp_unsigned("!=", builder.bitcast(value, wide), ir.Constant(wide, 0))


def _sign_bits(builder, vec, value):
    """uint64 whose bit l is the sign bit of lane l (of a mask: whether it is set)."""
    bits = builder.bitcast(_negative(builder, vec, value), ir.IntType(vec.lanes))
    return builder.zext(bits, ir.IntType(64))


def _pick(builder, value, vec, places):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
    return builder.shuffle_vector(value, ir.Constant(vec.llvm, ir.Undefined), mask)


def _halves(combine):
    def build(builder, vec, value):
        """The lanes of floats, 2^k of them, halves on halves: in one order on every machine."""
        lanes = vec.lanes
        while lanes > 1:
            part = Vec(vec.kind, vec.bits, lanes)
            lanes //= 2
            low = _pick(builder, value, part, range(lanes))
            value = combine(builder, low, _pick(builder, value, part, range(lanes, 2 * lanes)))
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return build


def _other_lanes_sum(builder, vec, value):
    """In every lane the sum of all others, of floats, 2^k of them, without any subtraction."""
    total, others = value, ir.Constant(vec.llvm, [0.0] * vec.lanes)
    step = 1
    while step < vec.lanes:
        swapped = _pick(builder, total, vec, [lane ^ step for lane in range(vec.lanes)])
        others, total = builder.fadd(others, swapped), builder.fadd(total, swapped)
        step *= 2
    return others


def _convert(method, target, first_lane=0):
    def build(builder, vec, value):
        """The lanes from the first one on as the target's type: cast, rounded or widened."""
        if method == "sext":
            value = _pick(builder, value, vec, range(first_lane, first_lane + target.lanes))
        return getattr(builder, method)(value, target.llvm)

    return _of_vec(lambda vec: target, build)


any_bit = _of_vec(lambda vec: types.boolean, _any_bit)
sign_bits = _of_vec(lambda vec: types.uint64, _sign_bits)
lane_sum = _of_vec(lambda vec: vec.number, _halves(lambda builder, a, b: builder.fadd(a, b)))
lane_max = _of_vec(
    lambda vec: vec.number,
    _halves(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)),
)
other_lanes_sum = _of_vec(lambda vec: vec, _other_lanes_sum)
# Floats as bit patterns of the same width, and back
bits_of = _of_vec(lambda vec: vec.mask, lambda builder, vec, v: builder.bitcast(v, vec.mask.llvm))
floats_of = _of_vec(
    lambda vec: Vec("f", vec.bits, vec.lanes),
    lambda builder, vec, v: builder.bitcast(v, Vec("f", vec.bits, vec.lanes).llvm),
)
# The same 256 bits seen as other integers
u64x4_to_i32x8, u64x4_to_i8x32 = _convert("bitcast", I32X8), _convert("bitcast", I8X32)
i32x8_to_f32x8 = _convert("sitofp", F32X8)  # to the nearest
f32x8_to_i32x8 = _convert("fptosi", I32X8)  # towards zero
i32x8_to_i16x8 = _convert("trunc", Vec("i", 16, 8))  # the lower halves
# Half of the lanes, sign-extended to twice the width
low_i16x16, high_i16x16 = _convert("sext", I16X16), _convert("sext", I16X16, 16)
low_i32x8, high_i32x8 = _convert("sext", I32X8), _convert("sext", I32X8, 8)


@intrinsic
def multiply_add(typingctx, a, b, c):
    """a b + c, in one instruction where the processor has it; some may be numbers."""
    vec = _common(a, b, c)

    def codegen(context, builder, sig, args):
        kind = vec.llvm
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(kind, (kind, kind, kind)),
            f"llvm.fmuladd.v{vec.lanes}f{vec.bits}",
        )
        return builder.call(function, _in_lanes(context, builder, vec, sig.args, args))

    return vec(a, b, c), codegen


@intrinsic
def gather_i32x8(typingctx, array, index):
    """Lanes ``array[index[l]]`` of a flat contiguous array; the index is a vector of int32."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        result, i32 = ir.Constant(I32X8.llvm, ir.Undefined), ir.IntType(32)
        for lane in range(I32X8.lanes):
            one = builder.extract_element(args[1], ir.Constant(i32, lane))
            value = builder.load(builder.gep(data, [builder.zext(one, ir.IntType(64))]))
            result = builder.insert_element(result, value, ir.Constant(i32, lane))
        return result

    return I32X8(array, index), codegen


@intrinsic
def join_i8x32(typingctx, a, b, c, d):
    """32 bytes, the low bytes of four vectors of 8 x int32."""

    def codegen(context, builder, sig, args):
        def lanes(count):
            return ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(count)))

        low = builder.shuffle_vector(args[0], args[1], lanes(16))
        high = builder.shuffle_vector(args[2], args[3], lanes(16))
        return builder.trunc(builder.shuffle_vector(low, high, lanes(32)), I8X32.llvm)

    return I8X32(a, b, c, d), codegen


CACHE_LINE = 64  # bytes


def _row_pointer(context, builder, types_of, values, columns):
    """Address of a row, given (array, row), and the vector type as which it lies in memory."""
    array_type, row_type = types_of
    stored = Vec("f", array_type.dtype.bitwidth, columns)
    row = context.cast(builder, values[1], row_type, types.intp)
    index = builder.mul(row, row.type(columns))
    pointer = element_pointer(
        context, builder, array_type, values[0], index, types.intp, stored.llvm
    )
    return pointer, stored


def _load(context, builder, types_of, values, vec, columns):
    """A row of so many columns, with ones in the lanes of the vector beyond them."""
    pointer, stored = _row_pointer(context, builder, types_of, values, columns)
    narrow = Vec("f", 64, columns)
    value = builder.load(pointer, align=stored.bits // 8)
    value = value if stored == narrow else builder.fpext(value, narrow.llvm)
    if columns == vec.lanes:
        return value
    # Lanes beyond take the first of the ones.
    source = [min(lane, columns) for lane in range(vec.lanes)]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vec.lanes), source)
    return builder.shuffle_vector(value, ir.Constant(narrow.llvm, [1.0] * columns), mask)


def _store(context, builder, types_of, values, value, vec, columns):
    """The first lanes as a row of so many columns."""
    pointer, stored = _row_pointer(context, builder, types_of, values, columns)
    if columns < vec.lanes:
        value = _pick(builder, value, vec, range(columns))
    if stored.bits < 64:
        value = builder.fptrunc(value, stored.llvm)
    builder.store(value, pointer, align=stored.bits // 8)
    return context.get_dummy_value()


@intrinsic
def row_of(typingctx, lanes, array, row):
    """Row number ``row`` of an array (..., lanes); the tuple ``lanes`` has the length of a row."""
    vec = Vec("f", 64, len(lanes))

    def codegen(context, builder, sig, args):
        return _load(context, builder, sig.args[1:], args[1:], vec, vec.lanes)

    return vec(lanes, array, row), codegen


@intrinsic
def packed_row(typingctx, lanes, columns, array, row):
    """Row number ``row`` of an array (..., len(columns)), ones in the lanes beyond."""
    vec, n_columns = Vec("f", 64, len(lanes)), len(columns)

    def codegen(context, builder, sig, args):
        return _load(context, builder, sig.args[2:], args[2:], vec, n_columns)

    return vec(lanes, columns, array, row), codegen


@intrinsic
def set_row(typingctx, array, row, vec):
    """Store the lanes as row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        return _store(context, builder, sig.args[:2], args[:2], args[2], vec, vec.lanes)

    return types.void(array, row, vec), codegen


@intrinsic
def set_packed_row(typingctx, columns, array, row, vec):
    """Store the first lanes as row number ``row`` of an array (..., columns)."""
    n_columns = len(columns)

    def codegen(context, builder, sig, args):
        return _store(context, builder, sig.args[1:3], args[1:3], args[3], vec, n_columns)

    return types.void(columns, array, row, vec), codegen


@intrinsic
def live_lanes(typingctx, lanes, columns):
    """Ones in the lanes of the columns, zeros in those beyond."""
    vec, n_columns = Vec("f", 64, len(lanes)), len(columns)

    def codegen(context, builder, sig, args):
        return ir.Constant(vec.llvm, [float(lane < n_columns) for lane in range(vec.lanes)])

    return vec(lanes, columns), codegen


@intrinsic
def add_to_row(typingctx, array, row, vec):
    """Add the lanes to row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        before = _load(context, builder, sig.args[:2], args[:2], vec, vec.lanes)
        value = builder.fadd(before, args[2])
        return _store(context, builder, sig.args[:2], args[:2], value, vec, vec.lanes)

    return types.void(array, row, vec), codegen


def _prefetch(builder, address):
    """Ask for a line of the cache, to be written to and kept."""
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), (byte, flag, flag, flag)),
        "llvm.prefetch.p0i8",
    )
    for_writing, keep, data = (ir.Constant(flag, value) for value in (1, 3, 1))
    builder.call(function, [address, for_writing, keep, data])


@intrinsic
def fetch_line(typingctx, array, byte):
    """Ask for the line of the cache with a byte of a flat array to be there when needed."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        first = builder.bitcast(data, ir.IntType(8).as_pointer())
        _prefetch(builder, builder.gep(first, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, byte), codegen


@intrinsic
def fetch_row(typingctx, columns, array, row):
    """Ask for row number ``row`` of an array (..., columns) to be in the cache when needed."""
    n_lanes = len(columns)

    def codegen(context, builder, sig, args):
        pointer, stored = _row_pointer(context, builder, sig.args[1:], args[1:], n_lanes)
        first = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        size = n_lanes * stored.bits // 8
        # A row that is no whole number of lines may end in one more.
        last = [] if size % CACHE_LINE == 0 else [size - 1]
        for byte_of_row in [*range(0, size, CACHE_LINE), *last]:
            _prefetch(builder, builder.gep(first, [ir.Constant(ir.IntType(64), byte_of_row)]))
        return context.get_dummy_value()

    return types.void(columns, array, row), codegen


_ROUND = 1.5 * 2.0**52  # x + _ROUND has round(x) in its lowest bits
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exp of less is not a normal number, and taken as 0
_SQRT_HALF_BITS = int(np.array(np.sqrt(0.5)).view(np.int64))
_TWO_52_BITS = int(np.array(2.0**52).view(np.int64))
_FRACTION = (1 << 52) - 1  # the bits below the exponent


_EXP = tuple(1.0 / math.factorial(n + 2) for n in range(11, -1, -1))  # sum_n r^n / (n + 2)!
_LOG = (  # fdlibm's
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
    2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
    6.666666666666735130e-01,
)  # fmt: skip


@njit(cache=True, nogil=True)
def exp(x):
    """exp(x) = 2^n exp(r), |r| < 0.35, for x <= 0; exactly 0 for x < -708, -inf included."""
    y = larger(x, _LOWEST)
    rounded = multiply_add(y, 1.4426950408889634, _ROUND)
    n = rounded - _ROUND
    r = multiply_add(n, -_LN2_LOW, multiply_add(n, -_LN2_HIGH, y))
    p = multiply_add(r, _EXP[0], _EXP[1])
    for coefficient in _EXP[2:]:
        p = multiply_add(r, p, coefficient)
    exp_r = multiply_add(r * r, p, r) + 1.0
    # the lowest bits of `rounded` are the integer n, to be added to the exponent
    power = floats_of(bits_of(exp_r) + (bits_of(rounded) << 52))
    return where(x < _LOWEST, 0.0, power)


@njit(cache=True, nogil=True)
def log(x):
    """ln(x) = n ln 2 + ln(1 + f), 1 + f in [0.71, 1.41), for x >= 1; fdlibm's polynomial."""
    above = bits_of(x) - _SQRT_HALF_BITS
    # n in the lowest bits of 2^52 makes the number 2^52 + n
    n = floats_of((above >> 52) + _TWO_52_BITS) - 2.0**52
    f = floats_of((above & _FRACTION) + _SQRT_HALF_BITS) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = multiply_add(z, _LOG[0], _LOG[1])
    for coefficient in _LOG[2:]:
        p = multiply_add(z, p, coefficient)
    half = 0.5 * f * f
    tail = multiply_add(s, multiply_add(z, p, half), n * _LN2_LOW)
    return n * _LN2_HIGH - ((half - tail) - f)
