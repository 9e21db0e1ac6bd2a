"""The loop of a session: runs inputs, which are tasks or commands, until the person leaves."""

from __future__ import annotations

from rawko.app.secrecy.session_secrets import masker_of
from rawko.cli.overrides.terminal import TypedAhead
from rawko.cli.session.commands import COMMANDS, arguments_of, execute, is_command
from rawko.cli.session.history import FILE_NAME
from rawko.cli.session.prompt import InputLine
from rawko.cli.session.session import Session


def talk(session: Session, first: str | None = None) -> int:
    """Run inputs until the person leaves; returns the exit code.

    Args:
        first: A task given on the command line.
    """
    settings = session.conversation.settings
    line = InputLine(
        settings.state_dir / FILE_NAME,
        masker_of(settings).text,
        session.below,
        {name: command.told for name, command in COMMANDS.items()},
        arguments_of(session),
        session.files,
    )
    text = first
    while not session.is_over:
        if text is None:
            text = _next(session.ahead, line)
        if text is None:
            break
        with session.stoppable():
            if is_command(text):
                execute(session, text)
            else:
                session.work_on(text)
        print()
        text = None
    return session.code


def _next(ahead: TypedAhead, line: InputLine) -> str | None:
    """The next line entered while a task was at work, else the next input; None to leave."""
    if ahead.lines:
        return ahead.lines.pop(0)
    begun, ahead.rest = ahead.rest, ""
    return line.read(begun)
