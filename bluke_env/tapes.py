"""The two ways along the text of a match, writing it and reading it, with the same steps for both.

`records` describes the notation once, as steps along a tape: a new line, fixed words, one of several things. A `Writer`
puts down what the match holds; a `Reader` compares that with what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from bluke_env.cards import card_text, suit_of

_GAP = "   "

_MOST_LISTED = 30
"""A complaint lists the choices if there are no more: enough for all bids."""

_LONGEST_QUOTE = 40


class RecordError(ValueError):
    """A text that is not the record of a match.

    Attributes:
        line: Where, from 1.
        column: The character of that line, from 1; the one after the last where something is missing.
        problem: What stands there and what would be right.
    """

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(line, column, problem)
        self.line, self.column, self.problem = line, column, problem

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.problem}"


class Writer:
    """Writes a record.

    Args:
        actions: The texts of all actions of the match, in order.
    """

    def __init__(self, actions: Iterable[str]) -> None:
        self._actions = list(actions)[::-1]
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All that has been written."""
        return "\n".join(self._lines) + "\n"

    def line(self, words: str, apart: bool = False) -> None:
        """Begins a line, with an empty one before it if it stands apart."""
        self._lines += ["", words] if apart else [words]

    def say(self, words: str) -> None:
        """Writes fixed words."""
        self._lines[-1] += _GAP + words

    def pick(self, choices: Mapping[str, Any], due: str) -> Any:
        """Writes the only choice and returns its value."""
        ((text, value),) = choices.items()
        self._lines[-1] += " " + text
        return value

    def cards(self, allowed: Collection[int], count: int, due: str) -> tuple[int, ...]:
        """Writes the cards, with a gap between suits, and returns them ascending."""
        cards = sorted(allowed)
        for place, card in enumerate(cards):
            new_suit = place > 0 and suit_of(card) != suit_of(cards[place - 1])
            self._lines[-1] += ("  " if new_suit else " ") + card_text(card)
        return tuple(cards)

    def goes_on(self, word: str) -> bool:
        """Whether the match goes on in a line that begins with `word`."""
        return bool(self._actions)

    def action(self, choices: Mapping[str, int], due: str, apart: bool = False) -> int | None:
        """Writes the next action and returns its id, or None where none is left or it is not among the choices."""
        text = self._actions.pop() if self._actions else ""
        if text not in choices:
            return None
        self._lines[-1] += (_GAP if apart else " ") + text
        return choices[text]


class _Token(NamedTuple):
    text: str  # a word, or one of the two below
    line: int
    column: int


_NEW_LINE = "\n"
_END = ""


class Reader:
    """Reads a record, and raises RecordError at the first thing that is not right.

    Line ends may be those of Windows; empty lines and the width of gaps do not matter.

    Args:
        text: The record.

    Attributes:
        position: The next word, to come back to.
        stops: The words that may begin the line after the point where the match stops.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[_Token] = []
        self.position = 0
        self.stops: tuple[str, ...] = ("end",)
        line_end = 0, 1
        for number, content in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            words = [_Token(found.group(), number, found.start() + 1) for found in re.finditer(r"[^ \t]+", content)]
            if words:
                self._tokens += [_Token(_NEW_LINE, *line_end), *words]
                line_end = number, words[-1].column + len(words[-1].text)
        self._tokens += [_Token(_NEW_LINE, *line_end), _Token(_END, line_end[0] + 1, 1)]

    # The steps of both tapes.

    def line(self, words: str, apart: bool = False) -> None:
        """Goes to the next line, which must begin with these words."""
        self._expect(_NEW_LINE, "the end of the line")
        self.say(words)

    def say(self, words: str) -> None:
        """Reads fixed words."""
        phrase = words.split()
        for word in phrase:
            self._expect(word, repr(word) if len(phrase) == 1 else f"{word!r} of {' '.join(phrase)!r}")

    def pick(self, choices: Mapping[str, Any], due: str) -> Any:
        """Reads one of the choices, which are texts of one word or two, and returns its value."""
        first, second = self._tokens[self.position : self.position + 2]
        text = f"{first.text} {second.text}"
        if text in choices:
            self.position += 1
        else:
            text = first.text
        if text not in choices:
            self.refuse(f"{due} ({', '.join(choices)})" if len(choices) <= _MOST_LISTED else due)
        self.position += 1
        return choices[text]

    def cards(self, allowed: Collection[int], count: int, due: str) -> tuple[int, ...]:
        """Reads `count` different cards out of the allowed ones and returns them ascending."""
        choices = {card_text(card): card for card in sorted(allowed)}
        cards = []
        for _ in range(count):
            cards.append(self.pick(choices, due))
            del choices[card_text(cards[-1])]
        return tuple(sorted(cards))

    def goes_on(self, word: str) -> bool:
        """Whether the match goes on in a line that begins with `word`."""
        return self.next_line(word, *self.stops) == word

    def action(self, choices: Mapping[str, int], due: str, apart: bool = False) -> int | None:
        """Reads an action and returns its id, or None where the match stops."""
        here, after = self._tokens[self.position : self.position + 2]
        if here.text == _NEW_LINE and after.text in self.stops:
            return None
        return self.pick(choices, due)

    # The steps of reading alone.

    def next_line(self, *words: str) -> str:
        """Returns the word that the next line begins with, which must be one of these, and stays before that line."""
        self._expect(_NEW_LINE, "the end of the line")
        first = self._tokens[self.position].text
        if first not in words:
            self.refuse(" or ".join(map(repr, words)))
        self.position -= 1
        return first

    def skip_line(self) -> None:
        """Goes to the end of the next line, whatever it says."""
        self.position += 1
        while self._tokens[self.position].text != _NEW_LINE:
            self.position += 1

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the next word."""
        return self._tokens[self.position][1:]

    def word(self, due: str) -> str:
        """Reads any word."""
        token = self._tokens[self.position]
        if token.text in (_NEW_LINE, _END):
            self.refuse(due)
        self.position += 1
        return token.text

    def number(self, due: str) -> int:
        """Reads a whole number below 2**64."""
        text = self._tokens[self.position].text
        if not re.fullmatch("0|[1-9][0-9]{0,19}", text) or int(text) >= 1 << 64:
            self.refuse(f"{due}, a whole number below 2**64,")
        self.position += 1
        return int(text)

    def finish(self) -> None:
        """Makes sure that nothing is left."""
        self._expect(_NEW_LINE, "the end of the line")
        self._expect(_END, "the end of the text")

    def refuse(self, due: str) -> NoReturn:
        """Raises RecordError: something else stands at the next word than what is due."""
        text, line, column = self._tokens[self.position]
        if text == _NEW_LINE:
            found = "the line ends here"
        elif text == _END:
            found = "the text ends here"
        else:
            found = f"{text[:_LONGEST_QUOTE]!r} stands here"
        raise RecordError(line, column, f"{found}, where {due} is due")

    def _expect(self, text: str, due: str) -> None:
        if self._tokens[self.position].text != text:
            self.refuse(due)
        self.position += 1
