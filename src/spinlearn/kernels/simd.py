"""Vec: a short SIMD vector of integers or floats as a Numba value.

Numba has no vector types, and LLVM's auto-vectoriser gives up on early exits, bit masks, gathers
and short inner loops. A ``Vec`` is a Numba value whose machine type is an LLVM vector, so LLVM
emits AVX2 where it exists and splits the same code for SSE or NEON elsewhere: results are
bit-identical on every machine (no fastmath; no fused multiply-add but the one of `multiply_add`).
Vecs live only inside kernels; they are never kernel arguments, so ``cache=True`` works as usual.

Operators: ``+ - *`` lane by lane, ``/`` on floats (IEEE, without Python's check for zero),
``& | ^ ~`` on integers, ``<< >>`` by an integer (logical shift); ``< > == <= >=`` give all-ones /
zero integer masks of the same shape. A number beside a Vec stands in every lane.
"""

import operator

from llvmlite import ir
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


def _in_lanes(context, builder, value, value_type, vec):
    """The value itself if it is a Vec, else the number in every lane."""
    if isinstance(value_type, Vec):
        return value
    return _splat(builder, context.cast(builder, value, value_type, vec.number), vec)


def _both_in_lanes(context, builder, sig, args):
    vec = _common(*sig.args)
    return [
        _in_lanes(context, builder, value, value_type, vec)
        for value, value_type in zip(args, sig.args, strict=True)
    ]


def _lower_with_numbers(op, lowering):
    for operands in ((Vec, Vec), (Vec, types.Number), (types.Number, Vec)):
        lower_builtin(op, *operands)(lowering)


def _define_binary(op, int_name, float_name):
    @type_callable(op)
    def typing(context):
        def typer(a, b):
            vec = _common(a, b)
            if vec is not None and (int_name if vec.kind == "i" else float_name):
                return vec
            return None

        return typer

    def lowering(context, builder, sig, args):
        name = int_name if sig.return_type.kind == "i" else float_name
        return getattr(builder, name)(*_both_in_lanes(context, builder, sig, args))

    _lower_with_numbers(op, lowering)


for _op, _int, _float in (
    (operator.add, "add", "fadd"),
    (operator.sub, "sub", "fsub"),
    (operator.mul, "mul", "fmul"),
    (operator.truediv, None, "fdiv"),
    (operator.and_, "and_", None),
    (operator.or_, "or_", None),
    (operator.xor, "xor", None),
):
    _define_binary(_op, _int, _float)


def _define_shift(op, name):
    @type_callable(op)
    def typing(context):
        def typer(a, b):
            if (
                isinstance(a, Vec)
                and a.kind == "i"
                and isinstance(b, types.Integer | types.IntegerLiteral)
            ):
                return a
            return None

        return typer

    @lower_builtin(op, Vec, types.Integer)
    def lowering(context, builder, sig, args):
        vec = sig.args[0]
        count = _in_lanes(context, builder, args[1], sig.args[1], vec)
        return getattr(builder, name)(args[0], count)


_define_shift(operator.lshift, "shl")
_define_shift(operator.rshift, "lshr")


@type_callable(operator.invert)
def _type_invert(context):
    def typer(a):
        if isinstance(a, Vec) and a.kind == "i":
            return a
        return None

    return typer


@lower_builtin(operator.invert, Vec)
def _lower_invert(context, builder, sig, args):
    return builder.not_(args[0])


def _compare(builder, symbol, vec, a, b):
    compare = builder.icmp_signed if vec.kind == "i" else builder.fcmp_ordered
    return compare(symbol, a, b)


def _define_comparison(op, symbol):
    @type_callable(op)
    def typing(context):
        def typer(a, b):
            vec = _common(a, b)
            return None if vec is None else vec.mask

        return typer

    def lowering(context, builder, sig, args):
        both = _both_in_lanes(context, builder, sig, args)
        return builder.sext(
            _compare(builder, symbol, _common(*sig.args), *both), sig.return_type.llvm
        )

    _lower_with_numbers(op, lowering)


for _op, _symbol in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _define_comparison(_op, _symbol)


def element_pointer(context, builder, array_type, array, index, index_type, llvm_type):
    """Address of ``array[index]`` of a flat view of the array, as that of an LLVM type."""
    data = context.make_array(array_type)(context, builder, array).data
    offset = context.cast(builder, index, index_type, types.intp)
    return builder.bitcast(builder.gep(data, [offset]), llvm_type.as_pointer())


def _define_load(vec):
    @intrinsic
    def load(typingctx, array, index):
        """Lanes ``array[index : index + lanes]``: flat, contiguous, same element width."""

        def codegen(context, builder, sig, args):
            pointer = element_pointer(
                context, builder, sig.args[0], args[0], args[1], sig.args[1], vec.llvm
            )
            value = builder.load(pointer)
            value.align = vec.bits // 8
            return value

        return vec(array, index), codegen

    return load


def _define_splat(vec):
    @intrinsic
    def splat(typingctx, scalar):
        """The scalar in every lane."""

        def codegen(context, builder, sig, args):
            return _in_lanes(context, builder, args[0], sig.args[0], vec)

        return vec(scalar), codegen

    return splat


load_u64x4, splat_u64x4 = _define_load(U64X4), _define_splat(U64X4)
load_i32x8, splat_i32x8 = _define_load(I32X8), _define_splat(I32X8)
load_f32x8, splat_f32x8 = _define_load(F32X8), _define_splat(F32X8)
load_i8x32, splat_i8x32 = _define_load(I8X32), _define_splat(I8X32)
splat_i16x16 = _define_splat(I16X16)


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


@intrinsic
def any_bit(typingctx, vec):
    """True if any bit of the vector is set."""

    def codegen(context, builder, sig, args):
        wide = ir.IntType(vec.bits * vec.lanes)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], wide), ir.Constant(wide, 0))

    return types.boolean(vec), codegen


@intrinsic
def sign_bits(typingctx, vec):
    """uint64 whose bit l is the sign bit of lane l (of a mask: whether it is set)."""

    def codegen(context, builder, sig, args):
        negative = builder.icmp_signed("<", args[0], ir.Constant(vec.llvm, [0] * vec.lanes))
        return builder.zext(builder.bitcast(negative, ir.IntType(vec.lanes)), ir.IntType(64))

    return types.uint64(vec), codegen


@intrinsic
def where(typingctx, mask, yes, no):
    """Lanes of ``yes`` where the mask's sign bit is set, else of ``no``; one may be a number."""
    vec = _common(yes, no)

    def codegen(context, builder, sig, args):
        negative = builder.icmp_signed("<", args[0], ir.Constant(mask.llvm, [0] * mask.lanes))
        return builder.select(
            negative,
            _in_lanes(context, builder, args[1], sig.args[1], vec),
            _in_lanes(context, builder, args[2], sig.args[2], vec),
        )

    return vec(mask, yes, no), codegen


def _define_choice(symbol, doc):
    @intrinsic
    def choose(typingctx, a, b):
        vec = _common(a, b)

        def codegen(context, builder, sig, args):
            a, b = _both_in_lanes(context, builder, sig, args)
            return builder.select(_compare(builder, symbol, vec, a, b), a, b)

        return vec(a, b), codegen

    choose.__doc__ = doc
    return choose


smaller = _define_choice("<", "min(a, b) lane by lane; one may be a number.")
larger = _define_choice(">", "max(a, b) lane by lane; one may be a number.")


def _define_reduction(combine, doc):
    @intrinsic
    def reduce(typingctx, vec):
        def codegen(context, builder, sig, args):
            # Halves on halves: the same order of additions on every machine.
            value, lanes = args[0], vec.lanes
            while lanes > 1:
                lanes //= 2
                part = Vec(vec.kind, vec.bits, 2 * lanes)
                low = _pick(builder, value, part, 0, lanes)
                value = combine(builder, low, _pick(builder, value, part, lanes, lanes))
            return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

        return vec.number(vec), codegen

    reduce.__doc__ = doc
    return reduce


lane_sum = _define_reduction(
    lambda builder, a, b: builder.fadd(a, b), "Sum of the lanes of floats, 2^k of them."
)
lane_max = _define_reduction(
    lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b),
    "Largest lane of floats, 2^k of them.",
)


@intrinsic
def other_lanes_sum(typingctx, vec):
    """In every lane the sum of all others, of floats, 2^k of them, without any subtraction."""

    def codegen(context, builder, sig, args):
        total, others = args[0], ir.Constant(vec.llvm, [0.0] * vec.lanes)
        step = 1
        while step < vec.lanes:
            partners = [lane ^ step for lane in range(vec.lanes)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), vec.lanes), partners)
            swapped = builder.shuffle_vector(total, ir.Constant(vec.llvm, ir.Undefined), mask)
            others, total = builder.fadd(others, swapped), builder.fadd(total, swapped)
            step *= 2
        return others

    return vec(vec), codegen


@intrinsic
def multiply_add(typingctx, a, b, c):
    """a b + c, in one instruction where the processor has it; some may be numbers."""
    vec = _common(a, b, c)

    def codegen(context, builder, sig, args):
        vectors = [
            _in_lanes(context, builder, value, value_type, vec)
            for value, value_type in zip(args, sig.args, strict=True)
        ]
        kind = vec.llvm
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(kind, (kind, kind, kind)),
            f"llvm.fmuladd.v{vec.lanes}f{vec.bits}",
        )
        return builder.call(function, vectors)

    return vec(a, b, c), codegen


@intrinsic
def bits_of(typingctx, vec):
    """Floats as bit patterns, integers of the same width."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], vec.mask.llvm)

    return vec.mask(vec), codegen


@intrinsic
def floats_of(typingctx, vec):
    """Bit patterns as floats of the same width."""
    floats = Vec("f", vec.bits, vec.lanes)

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], floats.llvm)

    return floats(vec), codegen


@intrinsic
def gather_i32x8(typingctx, array, index):
    """Lanes ``array[index[l]]`` of a flat contiguous array; the index is a vector of int32."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        lanes = []
        result = ir.Constant(I32X8.llvm, ir.Undefined)
        i32 = ir.IntType(32)
        for lane in range(I32X8.lanes):
            one = builder.extract_element(args[1], ir.Constant(i32, lane))
            lanes.append(builder.load(builder.gep(data, [builder.zext(one, ir.IntType(64))])))
        for lane, value in enumerate(lanes):
            result = builder.insert_element(result, value, ir.Constant(i32, lane))
        return result

    return I32X8(array, index), codegen


def _define_conversion(source, target, method, doc):
    @intrinsic
    def convert(typingctx, vec):
        def codegen(context, builder, sig, args):
            return getattr(builder, method)(args[0], target.llvm)

        return (target(source), codegen) if vec == source else None

    convert.__doc__ = doc
    return convert


u64x4_to_i32x8 = _define_conversion(U64X4, I32X8, "bitcast", "The same 256 bits seen as 8 x int32.")
i32x8_to_f32x8 = _define_conversion(
    I32X8, F32X8, "sitofp", "Signed integers to the nearest floats."
)
f32x8_to_i32x8 = _define_conversion(F32X8, I32X8, "fptosi", "Floats to integers, towards zero.")


@intrinsic
def load_i8_i32x8(typingctx, array, index):
    """Eight int8 of a flat array, widened to int32."""

    def codegen(context, builder, sig, args):
        narrow = ir.VectorType(ir.IntType(8), 8)
        pointer = element_pointer(
            context, builder, sig.args[0], args[0], args[1], sig.args[1], narrow
        )
        value = builder.load(pointer)
        value.align = 1
        return builder.sext(value, I32X8.llvm)

    return I32X8(array, index), codegen


def _pick(builder, value, vec, first_lane, count):
    lanes = ir.Constant(
        ir.VectorType(ir.IntType(32), count), list(range(first_lane, first_lane + count))
    )
    return builder.shuffle_vector(value, ir.Constant(vec.llvm, ir.Undefined), lanes)


def _define_widen(source, target, first_lane):
    @intrinsic
    def widen(typingctx, vec):
        """Half of the lanes, sign-extended to twice the width."""

        def codegen(context, builder, sig, args):
            return builder.sext(
                _pick(builder, args[0], source, first_lane, target.lanes), target.llvm
            )

        return (target(source), codegen) if vec == source else None

    return widen


low_i16x16, high_i16x16 = _define_widen(I8X32, I16X16, 0), _define_widen(I8X32, I16X16, 16)
low_i32x8, high_i32x8 = _define_widen(I16X16, I32X8, 0), _define_widen(I16X16, I32X8, 8)
u64x4_to_i8x32 = _define_conversion(U64X4, I8X32, "bitcast", "The same 256 bits seen as 32 x int8.")


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
