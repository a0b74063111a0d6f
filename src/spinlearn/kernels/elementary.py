"""Elementary functions of vectors of float64: exp, log.

LLVM does not vectorise libm's exp and log. These are branch-free and accurate to 1 ulp, by fdlibm's
reductions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.simd import bits_of, floats_of, larger, multiply_add, where

_ROUND = 1.5 * 2.0**52  # x + _ROUND has round(x) in its lowest bits
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exp of less is not a normal number, and taken as 0
_SQRT_HALF_BITS = int(np.array(np.sqrt(0.5)).view(np.int64))
_TWO_52_BITS = int(np.array(2.0**52).view(np.int64))
_FRACTION = (1 << 52) - 1  # the bits below the exponent


@njit(cache=True, nogil=True)
def exp(x):
    """exp(x) = 2^n exp(r), |r| < 0.35, for x <= 0; exactly 0 for x < -708, -inf included."""
    y = larger(x, _LOWEST)
    rounded = multiply_add(y, 1.4426950408889634, _ROUND)
    n = rounded - _ROUND
    r = multiply_add(n, -_LN2_LOW, multiply_add(n, -_LN2_HIGH, y))
    p = multiply_add(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)  # sum_n r^n/(n + 2)!, up to n = 11
    p = multiply_add(r, p, 1.0 / 39916800.0)
    p = multiply_add(r, p, 1.0 / 3628800.0)
    p = multiply_add(r, p, 1.0 / 362880.0)
    p = multiply_add(r, p, 1.0 / 40320.0)
    p = multiply_add(r, p, 1.0 / 5040.0)
    p = multiply_add(r, p, 1.0 / 720.0)
    p = multiply_add(r, p, 1.0 / 120.0)
    p = multiply_add(r, p, 1.0 / 24.0)
    p = multiply_add(r, p, 1.0 / 6.0)
    p = multiply_add(r, p, 0.5)
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
    p = multiply_add(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    p = multiply_add(z, p, 1.818357216161805012e-01)
    p = multiply_add(z, p, 2.222219843214978396e-01)
    p = multiply_add(z, p, 2.857142874366239149e-01)
    p = multiply_add(z, p, 3.999999999940941908e-01)
    p = multiply_add(z, p, 6.666666666666735130e-01)
    half = 0.5 * f * f
    tail = multiply_add(s, multiply_add(z, p, half), n * _LN2_LOW)
    return n * _LN2_HIGH - ((half - tail) - f)
