"""Rows of float64 arrays as vectors: the last axis are the lanes, the others are counted as one."""

from numba.core import types
from numba.extending import intrinsic

from spinlearn.kernels.simd import Vec, element_pointer


def _row_pointer(context, builder, array_type, array, row, row_type, vec):
    row = context.cast(builder, row, row_type, types.intp)
    index = builder.mul(row, row.type(vec.lanes))
    return element_pointer(context, builder, array_type, array, index, types.intp, vec.llvm)


@intrinsic
def row_of(typingctx, lanes, array, row):
    """Row number ``row`` of an array (..., lanes); the tuple ``lanes`` has the length of a row."""
    vec = Vec("f", 64, len(lanes))

    def codegen(context, builder, sig, args):
        pointer = _row_pointer(context, builder, sig.args[1], args[1], args[2], sig.args[2], vec)
        return builder.load(pointer, align=8)

    return vec(lanes, array, row), codegen


@intrinsic
def set_row(typingctx, array, row, vec):
    """Store the lanes as row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        pointer = _row_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, row, vec), codegen


@intrinsic
def add_to_row(typingctx, array, row, vec):
    """Add the lanes to row number ``row`` of an array (..., lanes)."""

    def codegen(context, builder, sig, args):
        pointer = _row_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec)
        builder.store(builder.fadd(builder.load(pointer, align=8), args[2]), pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, row, vec), codegen
