"""Builds a pack of a few objects and its index in memory (gitformat-pack, both of version 2).

pack    "PACK", version, count; per object its type, size and deflated contents; SHA-1 of all before
index   for each first byte, the number of ids up to it; the sorted ids; the CRC-32 of each packed object; its offset in
        the pack; SHA-1 of the pack, SHA-1 of all before
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Collection
from itertools import accumulate
from typing import Final

from rawko.workspace.repository.objects import Objects

MOST_BYTES: Final = 64 * 1024 * 1024
"""Larger packs are left to libgit2, which does not hold them in memory twice."""


_COUNTS: Final = struct.Struct(">256I")


def plain_pack(objects: Objects, oids: Collection[bytes]) -> tuple[bytes, bytes] | None:
    """A pack and its index; None if the pack would be large.

    Raises:
        KeyError, pygit2.GitError: An object is missing.
    """
    rising = sorted(oids)
    pieces = [b"PACK" + _number(2) + _number(len(rising))]
    place, places, sums = len(pieces[0]), list[int](), list[bytes]()
    for oid in rising:
        kind, contents = objects.latest(oid)
        piece = _head(int(kind), len(contents)) + zlib.compress(contents, 1)
        places.append(place)
        sums.append(_number(zlib.crc32(piece)))
        pieces.append(piece)
        place += len(piece)
        if place > MOST_BYTES:
            return None
    pack = b"".join(pieces)
    pack += _sha1(pack)
    return pack, _index(rising, sums, places, pack[-20:])


def _index(oids: list[bytes], sums: list[bytes], places: list[int], of_pack: bytes) -> bytes:
    counts = [0] * 256
    for oid in oids:
        counts[oid[0]] += 1
    index = b"".join(
        [
            b"\xfftOc" + _number(2),
            _COUNTS.pack(*accumulate(counts)),
            *oids,
            *sums,
            struct.pack(f">{len(places)}I", *places),
            of_pack,
        ]
    )
    return index + _sha1(index)


def _head(kind: int, size: int) -> bytes:
    """The header of a packed object: three bits of type, then the size in groups of four and seven bits, lowest
    first.
    """
    first, size = kind << 4 | size & 15, size >> 4
    found = bytearray()
    while size:
        found.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    found.append(first)
    return bytes(found)


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
