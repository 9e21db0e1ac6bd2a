"""The judge's answer: its JSON Schema and its parsing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rawko.cutting import cut
from rawko.machines.answers import AnswerError, json_object, quoted

KEYS: Final = "'reasons' and 'best'"
REASON_CHARS: Final = 2_000


def answer_schema(letters: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of an answer about the candidates with these letters. The reasons come first, so that the model
    considers each candidate before it names the best."""
    letter = {"type": "string", "enum": list(letters)}
    reason = {
        "type": "object",
        "properties": {"candidate": letter, "reason": {"type": "string", "description": "Strengths and faults"}},
        "required": ["candidate", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"reasons": {"type": "array", "items": reason}, "best": letter},
        "required": ["reasons", "best"],
        "additionalProperties": False,
    }


def read_answer(text: str, letters: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The letter of the best candidate, and a reason for each letter.

    Raises:
        AnswerError: The text does not fit the schema; the message says what would be accepted.
    """
    value = json_object(text, keys=KEYS)
    best: Any = value.get("best")
    told = value.get("reasons")
    if best not in letters:
        raise AnswerError(f"best is {quoted(str(best))}; accepted: {', '.join(letters)}")
    if not isinstance(told, list):
        raise AnswerError(f"reasons is {quoted(str(told))}; accepted: a list with one entry for each candidate")
    reasons: dict[str, str] = {}
    for entry in told:
        letter: Any
        letter, reason = (entry.get("candidate"), entry.get("reason")) if isinstance(entry, dict) else (None, None)
        if letter not in letters or not isinstance(reason, str) or not reason.strip():
            raise AnswerError(
                f"reasons has {quoted(str(entry))}; accepted: a candidate ({', '.join(letters)}), a reason"
            )
        reasons[letter] = cut(reason.strip(), REASON_CHARS)
    lacking = [letter for letter in letters if letter not in reasons]
    if lacking:
        raise AnswerError(f"reasons lacks {', '.join(lacking)}; accepted: one entry for each candidate")
    return best, reasons
