"""Counter-based random numbers: SplitMix64 (Steele, Lea and Flood 2014) over hashed keys.

A game's key is a hash of (seed, game number), and each of its hands draws from a stream of its own, so a deal
depends on the seed, the game's number and the hand's number and on nothing else.
"""

from __future__ import annotations

import numpy as np

from bluke_env.engine.jit import inlined, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_RANGE = np.uint64(1 << 32)
_SALT = np.uint64(0x424C554B45)


@inlined
def mix(x):
    """Hashes a uint64 to a uint64, one to one."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@inlined
def stream(key, number):
    """Returns the start of the stream `number` (a non-negative integer) of a key."""
    return mix(key ^ mix(np.uint64(number) + GOLDEN))


@inlined
def bounded(state, bound):
    """Draws a uniform integer in [0, bound), bound < 2**32, from a stream.

    Unbiased: Lemire, "Fast Random Integer Generation in an Interval", 2019.

    Returns:
        The number (int64) and the stream's next state.
    """
    bound = np.uint64(bound)
    state += GOLDEN
    product = (mix(state) >> _S32) * bound
    if (product & _LOW) < bound:
        threshold = (_RANGE - bound) % bound
        while (product & _LOW) < threshold:
            state += GOLDEN
            product = (mix(state) >> _S32) * bound
    return np.int64(product >> _S32), state


@inlined
def game_key(seed, number):
    """Returns the key of game `number` of a seed, both uint64."""
    return mix(mix(seed ^ _SALT) + (number + np.uint64(1)) * GOLDEN)


def first_seed(key: int) -> int:
    """Returns the seed whose game 0 has this key: `game_key` backwards."""
    return _unmix((_unmix(key) - int(GOLDEN)) % (1 << 64)) ^ int(_SALT)


def _unmix(x: int) -> int:
    """Undoes `mix`."""
    word = 1 << 64
    x ^= (x >> 31) ^ (x >> 62)
    x = x * pow(int(_M2), -1, word) % word
    x ^= (x >> 27) ^ (x >> 54)
    x = x * pow(int(_M1), -1, word) % word
    return x ^ (x >> 30) ^ (x >> 60)


@kernel
def hash_words(words):
    """Hashes an array of uint64 to one uint64."""
    state = _SALT
    for word in words:
        state = mix(state ^ mix(word + GOLDEN)) + GOLDEN
    return state
