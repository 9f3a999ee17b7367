"""Baseline bots, by name.

`make("rule")`, `make("rule:worlds=100")`: the text is a name of `BOTS` and, after a colon, options `key=value`
separated by commas. A bot's `name` is the shortest such text that makes it again, and its `version` is an integer. A
bot whose decisions change gets a new version, so that name and version together say who played.
"""

from __future__ import annotations

import inspect
from typing import Any

from bluke_env.agent import Agent
from bluke_env.bots.ismcts import IsmctsBot
from bluke_env.bots.pimc import PimcBot
from bluke_env.bots.random import RandomBot
from bluke_env.bots.rule import RuleBot

BOTS: dict[str, type] = {"random": RandomBot, "rule": RuleBot, "pimc": PimcBot, "ismcts": IsmctsBot}
"""The bots that `make` knows; their options are the keyword arguments of the class."""


def make(spec: str) -> Agent:
    """Returns a fresh bot.

    Args:
        spec: `name` or `name:key=value,key=value`.

    Raises:
        ValueError: There is no such bot, it has no such option, or the value is invalid.
    """
    name, colon, text = spec.partition(":") if isinstance(spec, str) else (spec, "", "")
    if name not in BOTS:
        raise ValueError(f"there is no bot {name!r}: the bots are {', '.join(BOTS)}")
    return BOTS[name](**_parsed(name, text) if colon else {})


def _parsed(name: str, text: str) -> dict[str, Any]:
    kinds = {key: option.annotation for key, option in inspect.signature(BOTS[name], eval_str=True).parameters.items()}
    choice = ", ".join(f"{key} ({kind.__name__})" for key, kind in kinds.items()) or "none"
    options: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if key not in kinds or not equals:
            raise ValueError(f"{part!r} is no option of the bot {name!r}, written key=value: its options are {choice}")
        if key in options:
            raise ValueError(f"the option {key} of the bot {name!r} is given twice in {text!r}: give it once")
        try:
            options[key] = kinds[key](value)
        except ValueError:
            kind = kinds[key].__name__
            raise ValueError(f"{key} of the bot {name!r} is {value!r}, but it must be of type {kind}") from None
    return options
