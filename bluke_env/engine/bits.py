"""Bit operations on card masks (int64), down to single machine instructions."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from bluke_env.cards import NUM_CARDS
from bluke_env.engine.jit import inlined


@intrinsic
def popcount(typingctx, mask):
    """Returns the number of set bits of an int64."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def lowest(typingctx, mask):
    """Returns the index of the lowest set bit of an int64, 64 if there is none."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic
def highest(typingctx, mask):
    """Returns the index of the highest set bit of an int64, -1 if there is none."""

    def codegen(context, builder, signature, args):
        leading_zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 63), leading_zeros)

    return types.int64(types.int64), codegen


def _spread(context, builder, signature, args, count):
    """Writes `count` bits as bytes with a vector instruction or a few, where a loop would take as many steps."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
    wide = builder.zext(bits, ir.VectorType(ir.IntType(8), 64))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(count)))
    data = builder.shuffle_vector(wide, ir.Constant(wide.type, ir.Undefined), lanes)
    target = builder.bitcast(builder.gep(array.data, [args[1]]), data.type.as_pointer())
    builder.store(data, target, align=1)
    return context.get_dummy_value()


@intrinsic
def spread(typingctx, out, start, mask):
    """Writes the low 54 bits of `mask` as 54 bytes of 0 or 1 into the int8 array `out` from index `start`."""

    def codegen(context, builder, signature, args):
        return _spread(context, builder, signature, args, NUM_CARDS)

    return types.void(out, types.int64, types.int64), codegen


@intrinsic
def spread_word(typingctx, out, start, mask):
    """Writes all 64 bits of `mask` as 64 bytes of 0 or 1 into the int8 array `out` from index `start`.

    Where what stands behind 54 cards is written later anyway, this is faster than `spread`: one whole vector.
    """

    def codegen(context, builder, signature, args):
        return _spread(context, builder, signature, args, 64)

    return types.void(out, types.int64, types.int64), codegen


@intrinsic
def zero(typingctx, out, start, count):
    """Sets `count` entries of the int8 array `out` to zero from index `start`."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        cgutils.memset(builder, builder.gep(array.data, [args[1]]), args[2], 0)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64), codegen


@intrinsic
def copy_pack(typingctx, source, out):
    """Copies 54 entries of one int8 array to another."""

    def codegen(context, builder, signature, args):
        kinds = zip(signature.args, args, strict=True)
        source, out = (context.make_array(kind)(context, builder, array) for kind, array in kinds)
        cgutils.raw_memcpy(builder, out.data, source.data, ir.Constant(ir.IntType(64), NUM_CARDS), 1)
        return context.get_dummy_value()

    return types.void(source, out), codegen


@inlined
def nth_set(mask, n):
    """Returns the index of the n-th set bit, counted from 0 at the low end."""
    for _ in range(n):
        mask &= mask - 1
    return lowest(mask)
