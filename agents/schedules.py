"""The settings that change over a run."""

from __future__ import annotations

from dataclasses import dataclass

from agents.config import TrainConfig


@dataclass
class Schedules:
    """The settings that change over a run, at one iteration."""

    learning_rate: float
    entropy_weight: float
    guide: float
    exploration: float
    temperature: float

    @classmethod
    def at(cls, config: TrainConfig, iteration: int) -> Schedules:
        """Returns the settings of an iteration, from 0."""
        part = min(1.0, iteration / max(1, config.iterations - 1))
        return cls(
            learning_rate=config.learning_rate + part * (config.final_learning_rate - config.learning_rate),
            entropy_weight=config.entropy + part * (config.final_entropy - config.entropy),
            guide=config.guide + part * (config.final_guide - config.guide),
            exploration=config.exploration + part * (config.final_exploration - config.exploration),
            temperature=config.temperature * (config.final_temperature / config.temperature) ** part,
        )
