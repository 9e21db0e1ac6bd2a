"""The highest cost of an evaluation, in words, shown before it starts."""

from __future__ import annotations

from rawko.app.evaluation.evaluation import Evaluation
from rawko.app.lanes.worst_case import Runner, worst_case
from rawko.app.run.budget import default_price


def promise(evaluation: Evaluation) -> str:
    """One line with the number of open attempts, and the most that all of them may cost."""
    left, tasks = evaluation.open_attempts, len(evaluation.tasks)
    who = f"{_counted(len(left), 'attempt')} at {_counted(tasks, 'task')}"
    if evaluation.is_resumed:
        every = tasks * evaluation.attempts
        ended = f"{every - len(left)} of {_counted(every, 'attempt')} have ended"
        who = f"{ended}; {_counted(len(left), 'attempt')} left"
    settings = evaluation.settings
    agents = [task.file.agent or evaluation.agent for task, _ in left]
    is_bounded = settings.budget.cost_usd is not None or default_price(settings) is not None
    if None in agents and not is_bounded:
        runs = f"{settings.max_iterations} agent runs of an attempt"
        return f"{who}; no bound on the cost but {runs}. --max-cost sets a bound"
    return worst_case(settings, [Runner(agent) for agent in agents if agent is not None], who=who)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
