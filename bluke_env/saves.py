"""A match as bytes, and whether a record is one of a match at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from bluke_env.cards import mask_of
from bluke_env.deals import Deal
from bluke_env.engine.state import GAME, NONE, OVER
from bluke_env.rules import BOARD, MAX_BOARD_LEVEL, Rules

_MAGIC = b"BLUKE2\n"


def packed(rules: Rules, deals: Sequence[Deal] | None, records: Sequence[np.ndarray]) -> bytes:
    """Returns the bytes of a match: its rules, given deals and `GAME` records (arrays of one), the present first."""
    plain = None if deals is None else [astuple(deal) for deal in deals]
    header = json.dumps({"rules": rules.to_dict(), "deals": plain}).encode()
    body = header + b"\n" + b"".join(record.tobytes() for record in records)
    return _MAGIC + _checksum(body) + body


def unpacked(data: bytes) -> tuple[Rules, tuple[Deal, ...] | None, list[np.ndarray]]:
    """Returns what was given to `packed`.

    Raises:
        ValueError: These are not the bytes of a game, or they are damaged.
    """
    start = len(_MAGIC) + 8
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        raise ValueError(f"these are not the bytes of a game: they must begin with {_MAGIC!r}, as to_bytes writes")
    body = data[start:]
    if _checksum(body) != data[len(_MAGIC) : start]:
        raise ValueError("the bytes of the game are damaged: their checksum is wrong")
    line, _, rest = body.partition(b"\n")
    header = json.loads(line)
    deals = header["deals"]
    if deals is not None:
        deals = tuple(Deal(tuple(map(tuple, hands)), *others) for hands, *others in deals)
    records = np.split(np.frombuffer(rest, GAME).copy(), len(rest) // GAME.itemsize)
    return Rules.from_dict(header["rules"]), deals, records


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=8).digest()


def fits(rules: Rules, record: Any) -> bool:
    """Says whether a game has the seats, cards and bids that the rules allow, so that nothing is read out of bounds."""
    seats, number, size = rules.num_players, int(record["hand_number"]), int(record["hand_size"])
    is_over = record["phase"] == OVER
    if not 0 <= number <= rules.num_hands or is_over != (number == rules.num_hands):
        return False
    if size != rules.schedule[number - is_over].cards:
        return False
    dealt = (record["hands"] | record["played"]).tolist()
    bids = record["bids"][:seats].tolist()
    return (
        [cards.bit_count() for cards in dealt] == [size] * seats + [0] * (len(dealt) - seats)
        and all(cards & ~mask_of(rules.cards) == 0 for cards in dealt)
        and all(NONE <= bid <= size or (rules.teams and BOARD < bid <= BOARD + MAX_BOARD_LEVEL) for bid in bids)
    )
