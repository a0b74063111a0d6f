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
        first = ir.Constant(ir.VectorType(ir.IntType(32), columns), list(range(columns)))
        value = builder.shuffle_vector(value, ir.Constant(vec.llvm, ir.Undefined), first)
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
    """Row number ``row`` of an array (..., columns), ones in the lanes beyond.

    The tuples ``lanes`` and ``columns`` have the lengths of a vector and of a row.
    """
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


@intrinsic
def fetch_row(typingctx, columns, array, row):
    """Ask for row number ``row`` of an array (..., columns) to be in the cache when needed."""
    n_lanes = len(columns)

    def codegen(context, builder, sig, args):
        pointer, stored = _row_pointer(context, builder, sig.args[1:], args[1:], n_lanes)
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
