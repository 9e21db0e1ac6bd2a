"""Tasks of `rawko eval` for Inspect (https://inspect.aisi.org.uk): samples, a solver that makes attempts, a scorer.

    # evaluate.py; then: inspect eval evaluate.py --model none --epochs 5
    from inspect_ai import task
    from rawko.app.evaluation.inspect_ai import rawko_task

    @task
    def mine():
        return rawko_task("tasks", agent="developer", assume_yes=True)

Inspect decides how often each task is attempted and how many at a time, keeps its logs, and draws them. Each attempt is
a run of rawko, as under `rawko eval`, with rawko's own model: Inspect's is not asked. The extra `eval` installs
Inspect.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from rawko.app.evaluation.evaluation import Evaluation
from rawko.app.evaluation.results import Attempt
from rawko.app.evaluation.tasks import EvalTask, read_tasks
from rawko.app.evaluation.trusted import require
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.processes.keys import environment
from rawko.trust.project import grant, refuse

KEPT: Final = "rawko"
"""Key in a sample's metadata that holds the attempt, as `rawko eval --json` prints it."""


def rawko_task(
    tasks: str | Path, *, agent: str | None = None, only: Sequence[str] = (), trust: bool = False, **settings: Any
) -> Task:
    """An Inspect task whose samples are the tasks of a folder.

    Args:
        agent: The agent for tasks that name none; None: all agents, under the arbiter.
        only: Names of tasks to include; empty for all.
        trust: Trust the tasks' commands; otherwise only commands that `rawko eval` was told to trust are run.
        settings: Options of `rawko run` by name: `model`, `provider`, `scenario`, `assume_yes`, `budget` of each
            attempt, and so on. The settings files of the current folder apply as well.

    Raises:
        ConfigError: A task or a setting cannot be used, or is not trusted.
    """
    judge = grant if trust else refuse
    loaded = load_settings(Path.cwd(), Flags(**settings), environment(), judge=judge)
    found = read_tasks(Path(tasks), only)
    require(Path(tasks), found, judge)
    samples = [Sample(input=one.file.task, id=one.name, target=CORRECT) for one in found]
    return Task(
        dataset=MemoryDataset(samples, name=Path(tasks).resolve().name),
        solver=rawko_attempt({one.name: one for one in found}, loaded, agent),
        scorer=rawko_checks(),
    )


@solver
def rawko_attempt(tasks: dict[str, EvalTask], settings: Settings, agent: str | None) -> Solver:
    """Makes one attempt at the task of a sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = tasks[str(state.sample_id)]
        evaluation = Evaluation(settings, (task,), agent, is_new=True, log=lambda level, message, data: None)
        evaluation.prepare()
        await evaluation.work()
        made = evaluation.done.get((task.name, 1))
        if made is None:
            raise ConfigError(evaluation.stopped)
        state.metadata[KEPT] = made.to_json()
        state.output = _output(made, settings)
        state.completed = True
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def rawko_checks() -> Scorer:
    """Scores an attempt as correct if every check of its task held, and no monitor stopped it."""

    async def score(state: TaskState, target: Target) -> Score:
        made = Attempt.model_validate(state.metadata[KEPT])
        lines = [f"{'held' if check.held else 'not held'}: {check.found}" for check in made.checks]
        return Score(
            value=CORRECT if made.passed else INCORRECT,
            answer=made.outcome,
            explanation="\n".join(filter(None, [made.problem, *lines])),
            metadata={"run": made.run, "cost_usd": made.cost_usd, "states": dict(made.states)},
        )

    return score


def _output(made: Attempt, settings: Settings) -> ModelOutput:
    """The sample's answer: how the attempt ended, and its usage."""
    output = ModelOutput.from_content(f"rawko/{settings.model or 'default'}", made.problem or made.outcome)
    output.usage = ModelUsage(
        input_tokens=made.usage.input_tokens,
        output_tokens=made.usage.output_tokens,
        total_tokens=made.usage.total_tokens,
    )
    output.time = made.duration_ms / 1000
    return output
