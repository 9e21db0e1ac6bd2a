"""Navigates nested cards: the containers around a card, and the innermost container around two cards."""

from __future__ import annotations

from rawko.render.rows.content import Content


def child_towards(content: Content, container: str | None, name: str) -> str:
    """The card directly inside a container that is, or contains, the named card."""
    while content.parents[name] != container:
        parent = content.parents[name]
        assert parent is not None
        name = parent
    return name


def meeting(content: Content, one: str, other: str) -> tuple[str | None, str, str] | None:
    """The innermost container of two cards, and the cards directly inside it that contain them; None if one card
    contains the other."""
    first, second = path(content, one), path(content, other)
    for number, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return (first[number - 1] if number else None), left, right
    return None


def path(content: Content, name: str) -> list[str]:
    """The cards around a card from the outermost inwards, and the card itself."""
    found = [name]
    parent = content.parents[name]
    while parent is not None:
        found.append(parent)
        parent = content.parents[parent]
    return found[::-1]
