"""One agent's conversation as a provider gets it, request by request. Messages sent before stay the same objects.

A provider that keeps the bytes of a message finds them by the object (`rawko.providers.anthropic.request`), so that a
request costs only its new messages, however long the conversation is:

    request 1   a          A            each letter is a message of the context; capitals are the messages sent
    request 2   a b c d    A B CD       adjacent user messages (c, d) are sent as one
    request 3   a b c d e  A B CD E     A, B and CD are the objects of request 2
    request 4   x d e      X D E        the older part was compacted to x: new objects from the first difference on
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from rawko.machines.agent_loop.conversation.rules import WireMessage, as_sent
from rawko.vocabulary.messages import Message, call_ids


class SentConversation:
    """The messages of one agent's last request, to be used again in the next one.

    Attributes:
        call_ids: Ids of the tool calls in the sent messages.
        system: The rendered system prompt, by whether the agent can update the plan.
    """

    def __init__(self) -> None:
        self.call_ids: set[str] = set()
        self.system: dict[bool, str] = {}
        self._source: list[WireMessage] = []
        self._sent: list[Message] = []
        self._ends: list[int] = []  # per sent message: the number of source messages up to its end

    def take(self, messages: Sequence[WireMessage]) -> tuple[Message, ...]:
        """The messages as `as_sent` gives them; those sent before are the same objects."""
        same = list(map(is_, self._source, messages))
        self._keep(len(same) if all(same) else same.index(False))
        for message in messages[self._ends[-1] if self._ends else 0 :]:
            self._add(message)
        self._source = list(messages)
        return tuple(self._sent)

    def _add(self, message: WireMessage) -> None:
        (sent,) = as_sent([message])
        self.call_ids |= call_ids([sent])
        if self._sent and message["role"] == "user" == self._sent[-1].role:
            self._sent[-1] = Message(role="user", content=(*self._sent[-1].content, *sent.content))
            self._ends[-1] += 1
        else:
            self._sent.append(sent)
            self._ends.append((self._ends[-1] if self._ends else 0) + 1)

    def _keep(self, same: int) -> None:
        """Drop the sent messages that are not made of the first `same` source messages only."""
        kept = len(self._ends)
        while kept and self._ends[kept - 1] > same:
            kept -= 1
        if kept < len(self._ends):
            del self._ends[kept:], self._sent[kept:]
            self.call_ids = call_ids(self._sent)
