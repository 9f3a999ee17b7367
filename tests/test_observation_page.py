"""What docs/observation.md works out in words; its tables are written from the code."""

import re
from itertools import product
from pathlib import Path

from bluke_env import ObservationLayout, Rules

PAGE = (Path(__file__).parent.parent / "docs" / "observation.md").read_text(encoding="utf-8")


def counted(formula: str, **numbers: int) -> int:
    """What a formula of the page comes to; it writes products without a sign."""
    assert f"`{formula}`" in PAGE
    return eval(re.sub(r"(?<=[\da-z)]) (?=[a-z(])", " * ", formula), {}, numbers)


def test_the_formulas_of_the_sizes() -> None:
    for n, c, (s, r), teams in product((2, 4, 9), (1, 3, 6), ((4, 13), (1, 1), (2, 4), (3, 13)), (False, True)):
        layout = ObservationLayout(n, c, 1, s, r, teams and n == 4)
        p = s * r + 2
        more = 21 if layout.teams else 0
        size = counted("6 + 4 p + s + r + c + n (9 + p + s + 2 c)", n=n, c=c, s=s, r=r, p=p)
        assert layout.size == size + more
        if p == 54:
            assert size == counted("239 + 67 n + c + 2 n c", n=n, c=c)
        assert layout.state_size == layout.size + counted("(n - 1) p", n=n, p=p)
        assert layout.num_actions == counted("59 + c" if layout.teams else "55 + c", c=c)
    assert re.search(r"in Back Alley\s21\smore", PAGE)


def test_the_boards_of_back_alley() -> None:
    rules = Rules.preset("back_alley")
    boards = range(54 + rules.most_cards + 1, rules.num_actions)
    assert f"the boards of Back Alley are {boards[0]} to {boards[-1]}." in PAGE
    assert len(boards) == 4
