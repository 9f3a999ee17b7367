"""Trains a network to play Bluke by self-play.

python train.py --config configs/quick.yaml
python train.py --config configs/quick.yaml --iterations 50 --seed 3
python train.py --resume runs/quick/checkpoint.pt
torchrun --nproc-per-node 2 train.py --config configs/quick.yaml
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import time
import traceback
from pathlib import Path
from typing import Any

try:
    from jsonargparse import ArgumentError, ArgumentParser
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from agents.learner import Learner
    from agents.logs import RunLog  # imports TensorBoard
    from agents.runs import Interruption, claim
except ImportError as error:
    sys.exit(f'train.py needs {error.name}, which comes with the train extra: pip install -e ".[train]"')

from agents import checkpoint, evaluate
from agents.config import TrainConfig
from agents.live import LiveEvaluation, LivePoint, members_of
from agents.ranks import Ranks
from agents.refusals import sentence_of
from agents.terminal import share_text
from bluke_env.evaluation import AgentError, Evaluation, write_json

DEALS_BEFORE = 20
"""Deals of each hand size in the evaluation before training; what it has to show is far outside its intervals."""


class Trainer:
    """One training run and its folder: learns, logs, evaluates and saves.

    Args:
        config: Settings of the run.
        resumed: The checkpoint of a run to go on with.

    Attributes:
        learner: What learns.
        folder: Where the run writes.
    """

    def __init__(self, config: TrainConfig, resumed: dict[str, Any] | None = None) -> None:
        self.config, self.ranks = config, Ranks()
        self.learner = Learner(config, resumed, ranks=self.ranks)
        self.folder = Path(config.run_dir)
        # Wrong players are refused before anything is changed.
        against = config.evaluate_against
        self._opponents = members_of("evaluate_against", against, config.rules) if against else {}
        if config.live_minutes:
            members_of("live_against", config.live_against, config.rules)
        self._lock = claim(self.folder, new=resumed is None) if self.ranks.is_first else None
        self.ranks.joined([0])  # nobody looks into the folder before it is claimed
        progress = self.learner.progress
        self.log = RunLog(self.folder, progress.iteration) if self.ranks.is_first else None
        self._live: LiveEvaluation | None = None
        if config.live_minutes:
            done = progress.decisions if resumed is not None else -1
            self._live = LiveEvaluation(
                self.folder, config.live_against, config.rules, config.live_deals, self.ranks, done
            )
        self._next_live = self._live_after(progress.seconds)

    @property
    def live_notes(self) -> tuple[str, ...]:
        """What a reader of the live evaluations has to know."""
        return () if self._live is None else self._live.notes

    @property
    def path(self) -> Path:
        """The checkpoint of the run."""
        return self.folder / "checkpoint.pt"

    def save(self, name: str = "checkpoint.pt") -> None:
        """Writes a checkpoint into the run's folder."""
        if self.ranks.is_first:
            checkpoint.save(self.folder / name, self.learner.contents())

    def close(self) -> None:
        """Ends the run in this process: its log is complete, and another process may have the folder."""
        if self.log is not None:
            self.log.close()
        if self._lock is not None:
            self._lock.release()
        self.ranks.close()

    def iterate(self) -> tuple[dict[str, float], LivePoint | None]:
        """Makes an iteration, evaluates if it is time to, and logs what happened.

        Returns:
            The row of the log, and the live evaluation if there was one.
        """
        row = self.learner.iterate()
        started = time.perf_counter()
        point = self._evaluated()
        row["evaluation_seconds"] = time.perf_counter() - started
        if self.log is not None:
            self.log.write(row, {} if point is None else point.row)
        return row, point

    def _evaluated(self) -> LivePoint | None:
        """Measures the network if enough time has passed since the last time or the run is over."""
        progress = self.learner.progress
        over = progress.iteration == self.config.iterations
        if self._live is None or (progress.seconds < self._next_live and not over):
            return None
        self._next_live = self._live_after(progress.seconds)
        point = self._live.measure(self.learner.agent, progress.iteration, progress.decisions, progress.seconds)
        if point.best:
            self.save("best.pt")
        self.save()  # a best network is never ahead of the run that it is the best of
        return point

    def judge(self, deals: int) -> Evaluation | None:
        """Plays the network as it is now against the players of the configuration, on deals that no training sees.

        Returns:
            What came of it; None if there are none to play against.

        Raises:
            AgentError: One of them failed.
        """
        if not self._opponents:
            return None
        config, opponents = self.config, list(self._opponents.values())
        matches = config.reward == "wins"
        return evaluate.compare(self.learner.agent, opponents, config.rules, deals, config.seed, matches=matches)

    def _live_after(self, seconds: float) -> float:
        """Returns when the next live evaluation is due, in seconds of training."""
        every = 60 * self.config.live_minutes
        return (seconds // every + 1) * every if every else math.inf


def train(trainer: Trainer, interruption: Interruption, console: Console) -> None:
    """Runs the iterations that are left; ends the program if it was interrupted, after saving."""
    config, progress = trainer.config, trainer.learner.progress
    columns = (
        TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[news]}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=config.iterations, completed=progress.iteration, news="")
        while progress.iteration < config.iterations:
            row, point = trainer.iterate()
            news = f"{row['points']:+.1f} points/hand, {row['decisions_per_second'] / 1000:.0f} k decisions/s"
            bar.update(task, completed=progress.iteration, news=news)
            if point is not None:
                print_live(point, console)
            last = progress.iteration == config.iterations
            if not console.is_terminal and progress.iteration % config.checkpoint_every == 0:
                console.print(f"{progress.iteration}/{config.iterations}: {news}", highlight=False)  # no bar moves here
            stop = interruption.agreed()
            if last or stop or progress.iteration % config.checkpoint_every == 0:
                trainer.save()
            if stop:
                bar.stop()
                further = "" if last else f"; --resume {trainer.path} goes on"
                console.print(f"interrupted: saved {trainer.path}{further}", soft_wrap=True, markup=False)
                trainer.close()
                sys.exit(128 + stop)


def judged(trainer: Trainer, deals: int) -> Evaluation | None:
    """Plays the network in the first process; where that fails, all processes end.

    Raises:
        AgentError: A player failed.
    """
    evaluation, failure = None, None
    if trainer.ranks.is_first:
        try:
            evaluation = trainer.judge(deals)
        except AgentError as error:
            failure = error
    if any(trainer.ranks.joined([float(failure is not None)])):
        raise failure or AgentError("a player of the evaluation failed in the first process")
    return evaluation


def print_live(point: LivePoint, console: Console) -> None:
    """Prints a live evaluation, and a warning if bids have collapsed."""
    leads = ", ".join(
        f"{comparison.average['over_same_seat'].mean:+.2f} ± {comparison.average['over_same_seat'].half_width:.2f} "
        f"over {comparison.opponent}"
        for comparison in point.comparisons
    )
    best = ", the best so far" if point.best else ""
    text = f"after {point.row['seconds'] / 60:.1f} minutes: {leads}{best}"
    console.print(text, highlight=False, soft_wrap=True, markup=False)
    if point.collapse is not None:
        console.print(point.collapse, highlight=False, soft_wrap=True, markup=False)


def print_averages(evaluation: Evaluation, console: Console) -> None:
    """Prints how a network does on average over the hands of the schedule, a line for each opponent."""
    for comparison in evaluation.comparisons:
        lead, wins = comparison.average["over_same_seat"], comparison.average.get("match_wins")
        won = "" if wins is None else f", {share_text(wins)} of the matches won"
        console.print(
            f"before training, against {comparison.opponent}: {lead.mean:+.2f} ± {lead.half_width:.2f} points a hand"
            f"{won}",
            highlight=False,
            soft_wrap=True,
        )


def parse(arguments: list[str] | None = None) -> tuple[TrainConfig, dict[str, Any] | None]:
    """Reads the command line.

    Returns:
        The settings, and the checkpoint to resume if one is named, whose settings are then the defaults.

    Raises:
        ArgumentError: An option or a field of the YAML file is unknown or of the wrong type.
        ValueError: A value is out of range, or the checkpoint cannot be read.
    """
    parser = ArgumentParser(
        prog="train.py",
        description="Trains a network to play Bluke by self-play.",
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.add_argument("--config", action="config", help="YAML file with any of the settings below")
    parser.add_argument(
        "--resume",
        type=str | None,
        default=None,
        metavar="CHECKPOINT",
        help="checkpoint to go on from, in its own folder",
    )
    parser.add_class_arguments(TrainConfig, as_group=True)
    arguments = files_first(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(arguments)
    resumed = None
    if options.resume is not None:
        resumed = checkpoint.read(options.resume)
        try:
            parser.set_defaults(TrainConfig.from_dict(resumed["config"]).to_dict())
        except ValueError as error:
            raise ValueError(f"{options.resume} was written by version {resumed['package']}: {error}") from None
        folder = str(Path(options.resume).parent)
        parser.set_defaults(run_dir=folder)
        options = parser.parse_args(arguments)
        if options.run_dir != folder:
            raise ValueError(
                f"run_dir is {options.run_dir!r}, but a run is resumed in its own folder, {folder!r}: leave it out"
            )
    chosen = {field.name: options[field.name] for field in dataclasses.fields(TrainConfig)}
    if resumed is not None:
        _check_kept(chosen, resumed)
    config = TrainConfig.from_dict(chosen)
    if resumed is not None:
        _check_resumable(config, resumed)
    return config, resumed


def files_first(arguments: list[str]) -> list[str]:
    """Returns a command line with its YAML files before all else, so that what it says itself counts."""
    files: list[str] = []
    others: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--config":
            files += [word, *itertools.islice(words, 1)]
        else:
            (files if word.startswith("--config=") else others).append(word)
    return files + others


FIXED = (
    "preset", "num_players", "schedule", "min_bid", "bluke_lead", "algorithm", "reward", "hidden_sizes", "bids",
    "critic", "critic_sizes", "sharpness", "suit_order", "rank_order", "plays_on", "initial", "seed", "shards",
)  # fmt: skip
"""Settings that a run keeps for good."""


def _check_kept(chosen: dict[str, Any], resumed: dict[str, Any]) -> None:
    """Refuses to go on with what the run so far was not made for."""
    if resumed["optimizer"] is None:
        raise ValueError("the checkpoint to resume was made for playing alone: begin a run with --initial instead")
    for name in FIXED:
        wanted, trained = chosen[name], resumed["config"][name]
        wanted = list(wanted) if isinstance(wanted, tuple) else wanted
        if wanted != trained:
            raise ValueError(f"{name} is {wanted!r}, but the checkpoint to resume has {trained!r}: leave it so")


def _check_resumable(config: TrainConfig, resumed: dict[str, Any]) -> None:
    """Refuses to deal hands of the run so far again, or to go on with nothing left to do."""
    hands = resumed["config"]["hands_per_size"]
    if config.hands_per_size < hands:
        raise ValueError(
            f"hands_per_size is {config.hands_per_size}, but fewer than the {hands} of the run so far would deal some "
            "of its hands again: leave it so or raise it"
        )
    done = resumed["progress"]["iteration"]
    if config.iterations <= done:
        raise ValueError(f"iterations is {config.iterations}, but the run has already done {done}: ask for more")


def main() -> None:
    """Trains, then evaluates."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may not know × and ±
    ranks = Ranks()
    console = Console(quiet=not ranks.is_first)
    try:
        config, resumed = parse()
        trainer = Trainer(config, resumed)
    except (ValueError, OSError, ArgumentError) as error:
        if ranks.is_first:
            print(f"train.py: {sentence_of(error)}", file=sys.stderr)
        sys.exit(2)
    try:
        run(trainer, resumed, console)
    except AgentError as error:  # after the last checkpoint nothing is lost but what follows it
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        print(f"train.py: {error}", file=sys.stderr)
        sys.exit(1)
    trainer.close()


def run(trainer: Trainer, resumed: dict[str, Any] | None, console: Console) -> None:
    """Makes what is left of a run, with the evaluations before and after it."""
    config, learner, ranks = trainer.config, trainer.learner, trainer.ranks
    interruption = Interruption(trainer.path, ranks)
    console.print(
        f"{learner.weights.vector.numel():,} weights, {learner.progress.precision} on {learner.device}, {ranks.count} "
        f"process(es); {trainer.folder}: checkpoint.pt, log.csv, TensorBoard",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    for note in trainer.live_notes:
        console.print(f"note: {note}", soft_wrap=True, highlight=False, markup=False)
    if resumed is not None and config.iterations != resumed["config"]["iterations"]:
        before = f"{resumed['config']['iterations']} iterations now last {config.iterations}"
        console.print(f"schedules of {before}: the learning rate and others go back to where that puts them")
    if resumed is None and (evaluation := judged(trainer, DEALS_BEFORE)):
        print_averages(evaluation, console)
    train(trainer, interruption, console)
    interruption.stop_at_once()
    if evaluation := judged(trainer, config.evaluate_deals):
        write_json(trainer.folder / "evaluation.json", evaluation.to_dict())
        evaluate.print_results(evaluation)


if __name__ == "__main__":
    main()
