"""Worked examples of Back Alley, for the referee and the engine alike."""

from back_alley_referee import BOARDS
from referee import Bid

BOARD, DOUBLE, TRIPLE, QUADRUPLE = BOARDS

# Hand, lead, trump, bluke_lead, the cards that may be played.
FOLLOWING = [
    ("2S AH LB", "KS", "H", "high_low", "2S"),
    ("2S 3S HB", "KS", "H", "trump", "2S 3S"),
    ("LB HB 2H", "KS", "H", "high_low", "LB HB 2H"),
    ("AH 3C LB", "KS", "H", "high_low", "AH 3C LB"),
    ("AH 3C 4D", "KS", None, "high_low", "AH 3C 4D"),
    ("2S 3C 4D", "KS", None, "high_low", "2S"),
    ("2H 2S LB", "KH", "H", "high_low", "2H LB"),
    ("2S 3C LB", "KH", "H", "high_low", "LB"),
    ("2S LB HB", "KH", "H", "trump", "LB HB"),
    ("2S 3C 4D", "KH", "H", "high_low", "2S 3C 4D"),
    ("2H AH 3S", "HB", "H", "high_low", "AH"),
    ("2H AH LB", "HB", "H", "high_low", "LB"),
    ("2H TH JH", "HB", "H", "high_low", "JH"),
    ("9H TH 3S", "HB", "H", "high_low", "TH"),
    ("2S 3C LB", "HB", "H", "high_low", "LB"),
    ("2S 3C 4D", "HB", "H", "high_low", "2S 3C 4D"),
    ("2H AH 3S", "LB", "H", "high_low", "2H"),
    ("9H TH HB", "LB", "H", "high_low", "9H"),
    ("AH HB 3S", "LB", "H", "high_low", "AH"),
    ("2S 3C HB", "LB", "H", "high_low", "HB"),
    ("2S 3C 4D", "LB", "H", "high_low", "2S 3C 4D"),
    ("2H AH LB", "HB", "H", "trump", "2H AH LB"),
    ("2H AH 3S", "LB", "H", "trump", "2H AH"),
    ("2S 3C LB", "HB", "H", "trump", "LB"),
    ("2S 3C 4D", "HB", "H", "trump", "2S 3C 4D"),
]

# The bids of a side's two players and the points it scores when it takes 5, 4, 3 ... 0 of the 5 tricks.
SIDE_POINTS: list[tuple[list[Bid], list[int]]] = [
    ([0, 0], [5, 4, 3, 2, 1, 0]),
    ([1, 0], [9, 8, 7, 6, 5, -5]),
    ([2, 1], [17, 16, 15, -15, -15, -15]),
    ([3, 2], [25, -25, -25, -25, -25, -25]),
    ([5, 0], [25, -25, -25, -25, -25, -25]),
    ([BOARD, 0], [50, -50, -50, -50, -50, -50]),
    ([DOUBLE, 0], [100, -100, -100, -100, -100, -100]),
    ([TRIPLE, BOARD], [200, -200, -200, -200, -200, -200]),
    ([QUADRUPLE, DOUBLE], [400, -400, -400, -400, -400, -400]),
]
