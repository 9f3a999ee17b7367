"""The whole of an evaluation: playing what is not on disk yet, and measuring what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

from bluke_env.evaluation.diagnostics import diagnose
from bluke_env.evaluation.duplicate import GAMES_AT_ONCE, DuplicateResult, check_fits, foreign_notes
from bluke_env.evaluation.lineups import Table
from bluke_env.evaluation.measure import Pairing, Participant, compared, own_places
from bluke_env.evaluation.oracle import losses_facts, oracle_losses
from bluke_env.evaluation.plan import Job, Plan, Results, Seater, scheduled_times
from bluke_env.evaluation.report import Evaluation
from bluke_env.evaluation.run import JobResult, do_jobs
from bluke_env.evaluation.store import ResultStore
from bluke_env.schedule import ScheduledHand


class Share(Protocol):
    """One of several processes that each do a part of the jobs and then tell each other the results."""

    index: int
    count: int

    def exchanged(self, jobs: Sequence[Job], done: Mapping[Job, JobResult]) -> dict[Job, JobResult]:
        """Returns the results of all jobs, those of the others too; job i is done by process i modulo `count`."""
        ...


def played(
    plan: Plan,
    seat: Seater,
    *,
    workers: int = 1,
    games_at_once: int = GAMES_AT_ONCE,
    store: ResultStore | None = None,
    rescue: Callable[[], ResultStore] | None = None,
    share: Share | None = None,
    on_job: Callable[[], None] = lambda: None,
) -> Results:
    """Plays a plan, or what is not in the store yet.

    Args:
        plan: What is played.
        seat: Gives the agent of a name.
        workers: See `do_jobs`.
        games_at_once: See `do_jobs`.
        store: Where results are kept as they come.
        rescue: Without a store, makes one for what was played before a failure.
        share: The part of the jobs that this process does; all of them by default.
        on_job: Called whenever a job is done.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player failed.
    """
    for name in plan.names:
        check_fits(plan.rules, name, seat(name))
    jobs = plan.jobs()
    mine = jobs if share is None else jobs[share.index :: share.count]
    done: dict[Job, JobResult] = {}
    if store is not None:
        for job in mine:
            known = store.load(job)
            if known is not None:
                done[job] = known
                on_job()
    missing = [job for job in mine if job not in done]
    try:
        with closing(do_jobs(plan, missing, seat, workers=workers, games_at_once=games_at_once)) as results:
            for job, result in results:
                done[job] = result
                if store is not None:
                    store.save(job, result)
                on_job()
        everything = done if share is None else share.exchanged(jobs, done)
    except BaseException as error:
        if store is None and rescue is not None and done:
            try:
                kept = rescue()
                for job, result in done.items():
                    kept.save(job, result)
            except OSError as lost:
                error.add_note(f"what was played before could not be kept: {lost}")
        raise
    return plan.assembled(everything)


def evaluation_of(
    plan: Plan,
    results: Results,
    pairings: Sequence[Pairing],
    seat: Seater,
    seconds: float,
    losses: Mapping[Pairing, dict[str, Any]] | None = None,
) -> Evaluation:
    """Measures players at tables that were played.

    Args:
        plan: What was played.
        results: What came of it.
        pairings: Who is measured where.
        seat: Gives the agent of a name.
        seconds: That the play took.
        losses: What `losses_of` found out about some of them.
    """
    who = {name: Participant.of(name, seat(name)) for name in plan.names}
    comparisons = []
    for pairing in pairings:
        comparison = compared(plan, results, pairing, who)
        hands = _by_kind(plan, results[pairing.table])
        facts = diagnose(plan.rules, hands, own_places(pairing.table, pairing.player))
        if losses and pairing in losses:
            facts["losses"] = losses[pairing]
        comparisons.append(replace(comparison, diagnostics=facts))
    notes = foreign_notes(plan.rules, {name: seat(name) for name in plan.names})
    return Evaluation(plan, tuple(who.values()), tuple(comparisons), seconds, notes)


def _by_kind(plan: Plan, results: Sequence[DuplicateResult]) -> dict[ScheduledHand, DuplicateResult]:
    """Returns the results of a table by kind of hand; those of the same kind within a match are put together."""
    parts: dict[ScheduledHand, list[DuplicateResult]] = {}
    for kind, result in zip(plan.kinds, results, strict=True):
        parts.setdefault(kind, []).append(result)
    return {kind: DuplicateResult.joined(hands) for kind, hands in parts.items()}


def losses_of(plan: Plan, pairing: Pairing, seat: Seater, deals: int) -> dict[str, Any]:
    """Returns what a player loses in bidding and in play, in so many deals of each kind of hand: see `oracle_losses`.

    Raises:
        ValueError: The plan is not of single hands, or the player does not sit among opponents of one kind.
        AgentError: A player failed.
    """
    others = {name for name in pairing.table if name != pairing.player} or {pairing.player}
    alone = pairing.table.count(pairing.player) in (1, len(pairing.table))
    if plan.hands is None or len(others) > 1 or not alone:
        raise ValueError("losses are measured on single hands, for one player among opponents of one kind")
    player, opponent = seat(pairing.player), seat(others.pop())
    lost = {hand: oracle_losses(player, opponent, plan.rules, hand, deals, plan.seed) for hand in plan.kinds}
    return losses_facts(lost, scheduled_times(plan.rules))


def tables_of(pairings: Sequence[Pairing]) -> tuple[Table, ...]:
    """Returns all tables that comparisons need, each once."""
    return tuple(dict.fromkeys(table for pairing in pairings for table in pairing.tables))
