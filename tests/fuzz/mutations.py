"""Ways in which files are damaged, by chance and by malice."""

from __future__ import annotations

import numpy as np

TOKENS = (
    b"\0", b"\n", b"\r\n", b",", b"\t", b'"', b"'", b"{", b"[" * 3000, b"}", b"nan", b"inf",
    b"-inf", b"1e999", b"-1", b"1_000", b"3.5E-", b"3.5E-\n", b"0x10", b"1,5", b"=1+2", b"@SUM(A1)",
    b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"9" * 30, b"%%", b"# ", b"Infinity", b"null",
    b"2024-02-30", b"4294967295", b"2147483648", b"\x7f" * 8, b"\xff" * 8, b"\x80" * 8,
)  # fmt: skip


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to three damages."""
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not damaged:
            break
        kind = DAMAGES[int(rng.integers(len(DAMAGES)))]
        damaged = kind(damaged, rng)
    return bytes(damaged)


def _place(content: bytearray, rng: np.random.Generator) -> int:
    """Anywhere, but often near the ends, where formats keep their lists."""
    size = len(content)
    near = rng.random()
    if near < 0.2:
        return int(rng.integers(min(size, 256)))
    if near < 0.4:
        return size - 1 - int(rng.integers(min(size, 256)))
    return int(rng.integers(size))


def _flip_bit(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return content


def _replace_byte(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] = int(rng.choice([0, 1, 0x20, 0x7F, 0x80, 0xFF, 0x2D, 0x39]))
    return content


def _truncate(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: _place(content, rng)]


def _cut_out(content: bytearray, rng: np.random.Generator) -> bytearray:
    start = _place(content, rng)
    return content[:start] + content[start + int(rng.integers(1, 64)) :]


def _repeat(content: bytearray, rng: np.random.Generator) -> bytearray:
    start = _place(content, rng)
    piece = content[start : start + int(rng.integers(1, 64))]
    return content[:start] + piece * int(rng.integers(1, 5)) + content[start:]


def _insert_token(content: bytearray, rng: np.random.Generator) -> bytearray:
    start = _place(content, rng)
    return content[:start] + TOKENS[int(rng.integers(len(TOKENS)))] + content[start:]


def _overwrite_token(content: bytearray, rng: np.random.Generator) -> bytearray:
    start, token = _place(content, rng), TOKENS[int(rng.integers(len(TOKENS)))]
    content[start : start + len(token)] = token
    return content


def _swap(content: bytearray, rng: np.random.Generator) -> bytearray:
    one, other = sorted((_place(content, rng), _place(content, rng)))
    length = min(int(rng.integers(1, 32)), other - one)
    first, second = content[one : one + length], content[other : other + length]
    content[one : one + length], content[other : other + length] = second, first
    return content


def _change_digit(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A number becomes another: shapes, sizes and counts are often written out."""
    places = [k for k in range(len(content)) if 0x30 <= content[k] <= 0x39]
    if places:
        content[places[int(rng.integers(len(places)))]] = int(rng.integers(0x30, 0x3A))
    return content


DAMAGES = (
    _flip_bit, _replace_byte, _truncate, _cut_out, _repeat, _insert_token, _overwrite_token, _swap,
    _change_digit,
)  # fmt: skip
