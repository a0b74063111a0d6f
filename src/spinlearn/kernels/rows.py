"""Rows of float arrays as vectors: the last axis are the lanes, the others are counted as one.

Arrays of float32 are read into and written from vectors of float64: half the memory, the same
arithmetic.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from spinlearn.kernels.simd import Vec, element_pointer

CACHE_LINE = 64  # bytes


def _row_pointer(context, builder, array_type, array, row, row_type, lanes):
    """Address of a row, and the vector type as which it lies in memory."""
    stored = Vec("f", array_type.dtype.bitwidth, lanes)
    row = context.cast(builder, row, row_type, types.intp)
    index = builder.mul(row, row.type(lanes))
    pointer = element_pointer(context, builder, array_type, array, index, types.intp, stored.llvm)
    return pointer, stored


def _load(builder, pointer, stored, vec):
    value = builder.load(pointer, align=stored.bits // 8)
    return value if stored == vec else builder.fpext(value, vec.llvm)


def _store(builder, value, pointer, stored, vec):
    if stored != vec:
        value = builder.fptrunc(value, stored.llvm)
    builder.store(value, pointer, align=stored.bits // 8)


@intrinsic
def row_of(typingctx, lanes, array, row):
    """Row number ``row`` of an array (..., lanes); the tuple ``lanes`` has the length of a row."""
    vec = Vec("f", 64, len(lanes))

    def codegen(context, builder, sig, args):
        place = _row_pointer(
            context, builder, sig.args[1], args[1], args[2], sig.args[2], vec.lanes
        )
        return _load(builder, *place, vec)

    return vec(lanes, array, row), codegen


@intrinsic
def set_row(typingctx, array, row, vec):
    """Store the lanes as row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        place = _row_pointer(
            context, builder, sig.args[0], args[0], args[1], sig.args[1], vec.lanes
        )
        _store(builder, args[2], *place, vec)
        return context.get_dummy_value()

    return types.void(array, row, vec), codegen


@intrinsic
def add_to_row(typingctx, array, row, vec):
    """Add the lanes to row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        place = _row_pointer(
            context, builder, sig.args[0], args[0], args[1], sig.args[1], vec.lanes
        )
        _store(builder, builder.fadd(_load(builder, *place, vec), args[2]), *place, vec)
        return context.get_dummy_value()

    return types.void(array, row, vec), codegen


@intrinsic
def fetch_row(typingctx, lanes, array, row):
    """Ask for row number ``row`` of an array (..., lanes) to be in the cache when it is needed."""
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        pointer, stored = _row_pointer(
            context, builder, sig.args[1], args[1], args[2], sig.args[2], n_lanes
        )
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), (byte, flag, flag, flag)),
            "llvm.prefetch.p0i8",
        )
        first = builder.bitcast(pointer, byte)
        for_writing, keep, data = (ir.Constant(flag, value) for value in (1, 3, 1))
        for line in range(0, n_lanes * stored.bits // 8, CACHE_LINE):
            place = builder.gep(first, [ir.Constant(ir.IntType(64), line)])
            builder.call(function, [place, for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(lanes, array, row), codegen
