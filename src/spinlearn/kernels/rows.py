"""Rows of float arrays as vectors: the last axis are the lanes, the others are counted as one.

Arrays of float32 are read into and written from vectors of float64: half the memory, the same
arithmetic. Packed arrays have fewer columns than there are lanes: no memory for lanes that stand
for nothing.
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
def packed_row(typingctx, lanes, columns, array, row):
    """Row number ``row`` of an array (..., columns), ones in the lanes beyond.

    The tuples ``lanes`` and ``columns`` have the lengths of a vector and of a row.
    """
    vec, n_columns = Vec("f", 64, len(lanes)), len(columns)

    def codegen(context, builder, sig, args):
        pointer, stored = _row_pointer(
            context, builder, sig.args[2], args[2], args[3], sig.args[3], n_columns
        )
        value = _load(builder, pointer, stored, Vec("f", 64, n_columns))
        return value if n_columns == vec.lanes else _widened(builder, value, vec, n_columns)

    return vec(lanes, columns, array, row), codegen


def _widened(builder, value, vec, n_columns):
    """A vector of the first columns with ones after them."""
    narrow = Vec("f", 64, n_columns)
    ones = ir.Constant(narrow.llvm, [1.0] * n_columns)
    # Lanes beyond take the first of the ones.
    source = [min(lane, n_columns) for lane in range(vec.lanes)]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vec.lanes), source)
    return builder.shuffle_vector(value, ones, mask)


@intrinsic
def live_lanes(typingctx, lanes, columns):
    """Ones in the lanes of the columns, zeros in those beyond."""
    vec, n_columns = Vec("f", 64, len(lanes)), len(columns)

    def codegen(context, builder, sig, args):
        return ir.Constant(vec.llvm, [float(lane < n_columns) for lane in range(vec.lanes)])

    return vec(lanes, columns), codegen


@intrinsic
def set_packed_row(typingctx, columns, array, row, vec):
    """Store the first lanes as row number ``row`` of an array (..., columns)."""
    n_columns = len(columns)

    def codegen(context, builder, sig, args):
        pointer, stored = _row_pointer(
            context, builder, sig.args[1], args[1], args[2], sig.args[2], n_columns
        )
        value, narrow = args[3], Vec("f", 64, n_columns)
        if n_columns < vec.lanes:
            first = ir.Constant(ir.VectorType(ir.IntType(32), n_columns), list(range(n_columns)))
            value = builder.shuffle_vector(value, ir.Constant(vec.llvm, ir.Undefined), first)
        _store(builder, value, pointer, stored, narrow)
        return context.get_dummy_value()

    return types.void(columns, array, row, vec), codegen


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
def fetch_row(typingctx, columns, array, row):
    """Ask for row number ``row`` of an array (..., columns) to be in the cache when needed."""
    n_lanes = len(columns)

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
        size = n_lanes * stored.bits // 8
        # A row that is no whole number of lines may end in one more.
        last = [] if size % CACHE_LINE == 0 else [size - 1]
        for byte_of_row in [*range(0, size, CACHE_LINE), *last]:
            place = builder.gep(first, [ir.Constant(ir.IntType(64), byte_of_row)])
            builder.call(function, [place, for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(columns, array, row), codegen
