"""Trains a network to play Bluke by self-play.

python train.py --config configs/quick.yaml
python train.py --config configs/quick.yaml --iterations 50 --seed 3
python train.py --resume runs/quick/checkpoint.pt
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import os
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

try:
    import torch
    from filelock import FileLock, Timeout
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

    from agents.logs import RunLog  # imports TensorBoard
except ImportError as error:
    sys.exit(f'train.py needs {error.name}, which comes with the train extra: pip install -e ".[train]"')

from agents import checkpoint, evaluate, seeds
from agents.config import TrainConfig
from agents.network import Network
from agents.player import NetworkAgent
from agents.ppo import Schedules, update
from agents.precision import chosen_device, chosen_precision
from agents.rollout import Decisions, HandStatistics, Rollout
from bluke_env import Agent, bots
from bluke_env.batch import derive_seed
from bluke_env.evaluation import Evaluation, write_json

DEALS_BEFORE = 20
"""Deals of each hand size in the evaluation before training; what it has to show is far outside its intervals."""


class Trainer:
    """One training run: plays, learns, logs and saves, one iteration after the other.

    Args:
        config: Settings of the run.
        resumed: The checkpoint of a run to go on with.
        opponent: Who takes the seats that are not the network's, by default the bot of the settings.
    """

    def __init__(
        self, config: TrainConfig, resumed: dict[str, Any] | None = None, opponent: Agent | None = None
    ) -> None:
        self.config, self.rules = config, config.rules
        self._opponent = bots.make(config.bot) if opponent is None else opponent
        torch.set_num_threads(1)  # the threads of the pool each compute on their own, without waiting for each other
        self._pool = ThreadPoolExecutor(config.threads)
        self.device = chosen_device(config.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = Network(self.rules, config.hidden_sizes).to(self.device)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(),
            lr=config.learning_rate,
            eps=1e-5,
            fused=self.device.type in ("cpu", "cuda"),
        )
        self.progress = checkpoint.Progress()
        if resumed is not None:
            checkpoint.restore(self.network, resumed)
            self.optimizer.load_state_dict(resumed["optimizer"])
            self.progress = checkpoint.Progress(**resumed["progress"])
        if resumed is None or config.precision != "auto":
            self.progress.precision = chosen_precision(config.precision, self.device)
        self.folder = Path(config.run_dir)
        self._lock = claim(self.folder, new=resumed is None)
        self.log = RunLog(self.folder, self.progress.iteration)
        self._rollouts: dict[int, Rollout] = {}

    @property
    def path(self) -> Path:
        """The checkpoint of the run."""
        return self.folder / "checkpoint.pt"

    @property
    def agent(self) -> NetworkAgent:
        """The network as it is now."""
        return NetworkAgent(self.network, self.rules, "network")

    def save(self) -> None:
        """Writes the checkpoint."""
        checkpoint.save(self.path, self.network, self.optimizer, self.config, self.progress)

    def close(self) -> None:
        """Ends the run in this process: its log is complete, and another process may have the folder."""
        self.log.close()
        self._pool.shutdown()
        self._lock.release()

    def iterate(self) -> dict[str, float]:
        """Plays hands of several sizes, learns from them, and returns what happened."""
        config, progress, iteration = self.config, self.progress, self.progress.iteration
        started = time.perf_counter()
        schedules = Schedules.at(config, iteration)
        played, statistics = zip(*self._pool.map(self._play, self._sizes(iteration)), strict=True)
        learning = time.perf_counter()
        generator = torch.Generator().manual_seed(derive_seed(config.seed, seeds.MINIBATCHES, iteration) >> 1)
        decisions = Decisions.concatenate(played)
        losses = update(
            self.network, self.optimizer, decisions, config, schedules, generator, progress.precision, self._pool
        )
        ended = time.perf_counter()
        progress.iteration += 1
        progress.decisions += sum(hands.decisions for hands in statistics)
        progress.seconds += ended - started
        return {
            "iteration": progress.iteration,
            "decisions": progress.decisions,
            "seconds": progress.seconds,
            "decisions_per_second": sum(hands.decisions for hands in statistics) / (ended - started),
            "learned_per_second": len(decisions) / (ended - started),
            "rollout_share": (learning - started) / (ended - started),
            **_means(statistics),
            **losses,
            **dataclasses.asdict(schedules),
        }

    def _sizes(self, iteration: int) -> list[int]:
        """Draws the hand sizes of an iteration, each at most once, large ones more often: they are harder."""
        sizes = self.config.learnable_sizes
        weights = 1.0 + (sizes > 0.55 * sizes.max()) + (sizes > 0.8 * sizes.max())
        rng = np.random.Generator(np.random.PCG64(derive_seed(self.config.seed, seeds.SIZES, iteration)))
        drawn = rng.choice(sizes, self.config.sizes_per_iteration, replace=False, p=weights / weights.sum())
        return sorted(drawn.tolist(), reverse=True)  # the longest first keeps all threads busy

    def _play(self, size: int) -> tuple[Decisions, HandStatistics]:
        """Plays the hands of one size in the present iteration."""
        config = self.config
        if size not in self._rollouts:
            bot = copy.deepcopy(self._opponent)  # hands of several sizes are played at the same time
            self._rollouts[size] = Rollout(
                self.rules, size, config.hands_per_size, config.seed, bot, config.learner_seats, config.bot_share
            )
        temperature = Schedules.at(config, self.progress.iteration).temperature
        return self._rollouts[size].play(
            self.network, self.progress.iteration, temperature, config.gae_lambda, self.progress.precision
        )


def claim(folder: Path, new: bool) -> FileLock:
    """Makes the folder of a run and keeps it for this process.

    Args:
        folder: Where the run writes.
        new: The run begins: the folder of an earlier one is renamed, so that nothing of it is lost.

    Raises:
        ValueError: Another process is training there, or there is a file of that name.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"run_dir is {str(folder)!r}, but that is a file: name a folder")
    if new and (folder / "log.csv").exists():
        locked(folder).release()
        number = next(n for n in itertools.count(1) if not folder.with_name(f"{folder.name}.{n}").exists())
        moved = folder.rename(folder.with_name(f"{folder.name}.{number}"))
        print(f"{folder} held another run, which is now in {moved}")
    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder)


def locked(folder: Path) -> FileLock:
    """Returns the lock of a run's folder, held by this process until it ends.

    Raises:
        ValueError: Another process holds it.
    """
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another process is training in {folder}: wait for it or choose another run_dir") from None
    return lock


def _means(statistics: Sequence[HandStatistics]) -> dict[str, float]:
    return {
        name: float(np.mean([getattr(hands, name) for hands in statistics])) for name in ("points", "make_rate", "bid")
    }


class Interruption:
    """Turns Ctrl-C and SIGTERM into a wish to stop after the iteration; a second one stops at once.

    Args:
        path: The checkpoint of the run.
    """

    def __init__(self, path: Path) -> None:
        self.signal = 0
        self._path = path
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._wish)

    def _wish(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            kept = f"{self._path} holds the last save" if self._path.exists() else "nothing was saved yet"
            print(f"\nstopped at once: {kept}", file=sys.stderr)
            os._exit(128 + number)  # threads may be in the middle of a long step
        self.signal = number

    def stop_at_once(self) -> None:
        """Lets the next signal end the program: from here on nothing can be lost."""
        self.signal = signal.SIGINT


def train(trainer: Trainer, interruption: Interruption, console: Console) -> None:
    """Runs the iterations that are left; ends the program if it was interrupted, after saving."""
    config, progress = trainer.config, trainer.progress
    columns = (
        TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[news]}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=config.iterations, completed=progress.iteration, news="")
        while progress.iteration < config.iterations:
            row = trainer.iterate()
            trainer.log.write(row)
            news = f"{row['points']:+.1f} points/hand, {row['decisions_per_second'] / 1000:.0f} k decisions/s"
            bar.update(task, completed=progress.iteration, news=news)
            last = progress.iteration == config.iterations
            if not console.is_terminal and progress.iteration % config.checkpoint_every == 0:
                console.print(f"{progress.iteration}/{config.iterations}: {news}", highlight=False)  # no bar moves here
            if last or interruption.signal or progress.iteration % config.checkpoint_every == 0:
                trainer.save()
            if interruption.signal:
                bar.stop()
                further = "" if last else f"; --resume {trainer.path} goes on"
                console.print(f"interrupted: saved {trainer.path}{further}", soft_wrap=True, markup=False)
                sys.exit(128 + interruption.signal)


def judge(trainer: Trainer, deals: int) -> Evaluation:
    """Plays the network as it is now against the bots of the configuration, on deals that no training sees."""
    opponents = [bots.make(spec) for spec in trainer.config.evaluate_against]
    return evaluate.compare(trainer.agent, opponents, trainer.rules, deals, trainer.config.seed)


def print_averages(evaluation: Evaluation, console: Console) -> None:
    """Prints how a network does on average over the hands of the schedule, a line for each opponent."""
    for comparison in evaluation.comparisons:
        lead = comparison.average["over_same_seat"]
        console.print(
            f"before training, against {comparison.opponent}: {lead.mean:+.2f} ± {lead.half_width:.2f} points a hand",
            highlight=False,
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
    config = TrainConfig.from_dict({field.name: options[field.name] for field in dataclasses.fields(TrainConfig)})
    if resumed is not None:
        _check_resumable(config, resumed)
    return config, resumed


def _check_resumable(config: TrainConfig, resumed: dict[str, Any]) -> None:
    """Refuses to go on with what the run so far was not made for, or with nothing left to do."""
    for name in ("num_players", "min_bid", "bluke_lead", "hidden_sizes", "seed"):
        wanted, trained = config.to_dict()[name], resumed["config"][name]
        if wanted != trained:
            raise ValueError(f"{name} is {wanted!r}, but the checkpoint to resume has {trained!r}: leave it so")
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
    console = Console()
    try:
        config, resumed = parse()
        trainer = Trainer(config, resumed)
    except (ValueError, OSError, ArgumentError) as error:
        print(f"train.py: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    interruption = Interruption(trainer.path)
    console.print(
        f"{sum(weights.numel() for weights in trainer.network.parameters()):,} weights, {trainer.progress.precision} "
        f"on {trainer.device}, {config.threads} thread(s); {trainer.folder}: checkpoint.pt, log.csv, TensorBoard",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    if resumed is None:
        print_averages(judge(trainer, DEALS_BEFORE), console)
    train(trainer, interruption, console)
    interruption.stop_at_once()
    evaluation = judge(trainer, config.evaluate_deals)
    write_json(trainer.folder / "evaluation.json", evaluation.to_dict())
    evaluate.print_results(evaluation)
    trainer.close()


if __name__ == "__main__":
    main()
