"""What jsonargparse finds wrong with a command line or a YAML file, as a sentence for those who wrote it."""

from __future__ import annotations

import difflib
import re
from typing import get_args, get_origin, get_type_hints

from agents.config import TrainConfig

_WRONG_VALUE = re.compile(r'Parser key "(\w+)": .*(?:Got|Given) value: ?(.*)')
_NO_FILE = re.compile(r'Parser key "(\w+)": File does not exist: (.*)')
_UNKNOWN = re.compile(r"(?:unrecognized arguments: -*|Option ')(\w[\w-]*)")
_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    str | None: "text, in a YAML file in quotes where it looks like a number",
    int | tuple[int, ...] | None: "a whole number or a list of them, such as [2,3]",
    tuple[int, ...]: "a list of whole numbers, such as [64,64]",
    tuple[str, ...]: "a list of players, such as [random,rule]",
}
_OTHERS = ("config", "resume")


def sentence_of(error: Exception) -> str:
    """Returns in one line what is wrong and, where the parser speaks of types, what would be right."""
    text = " ".join(str(error).split())
    kinds = get_type_hints(TrainConfig)
    wrong = _WRONG_VALUE.fullmatch(text)
    if wrong and wrong[1] in kinds:
        kind = kinds[wrong[1]]
        verb = "has" if get_origin(kind) is tuple else "is"  # what does not fit may be one of several
        wanted = _KINDS.get(kind) or "one of " + ", ".join(get_args(kind))
        return f"{wrong[1]} {verb} {wrong[2] or 'empty'}, but it must be {wanted}"
    missing = _NO_FILE.fullmatch(text)
    if missing:
        return f"{missing[1]}: there is no file {missing[2]}"
    if text.startswith("Unexpected config"):
        return "config: the file is empty or no YAML file of settings, such as seed: 1"
    unknown = _UNKNOWN.match(text)
    if unknown:
        near = difflib.get_close_matches(unknown[1].replace("-", "_").lower(), [*kinds, *_OTHERS], 1)
        return text + (f": did you mean {near[0]}?" if near else "")
    return text
