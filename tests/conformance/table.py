"""How many cases pass, per category: SCION's by folder, the W3C's by topic of the recommendation.

python -m tests.conformance.table          # both tables, in Markdown

rows = w3c_rows(); rows["foreach"].passed, rows["foreach"].cases
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.conformance import scion, w3c
from tests.conformance.fetch import NotFetched, scion_folder, w3c_folder

TOPICS: Mapping[str, str] = {
    "raise, if, foreach, blocks": "144 145 147 148 149 150 151 152 153 155 156 158 159 457 459 460 525",
    "send, cancel": "172 173 174 175 176 179 183 185 186 187 194 198 199 200 205 207 208 210 521 553",
    "invoke": (
        "191 192 215 216 220 223 224 225 226 228 229 232 233 234 235 236 237 239 240 241 242 243 244 245 247 252 253 "
        "276 338 422 530 554"
    ),
    "data, assign, script": (
        "277 278 279 280 286 287 302 303 304 311 312 444 445 446 448 452 453 456 487 550 551 552 557 558"
    ),
    "donedata, done events": "294 298 343 372 416 417 488 527 528 529 570",
    "conditions, In": "309 310 344 449 451",
    "system variables": "318 319 321 322 323 324 325 326 329 346 500 501 569",
    "_event": "330 331 332 333 335 336 337 339 342 351 352 560 561 562 578",
    "event processors": "189 190 193 347 348 349 350 354 495 496",
    "initial, final, history": "355 364 387 388 412 413 576 579 580",
    "entry, exit": "375 376 377 378 404 405 406 407 409 411",
    "event descriptors, queues": "396 399 401 402 419 421 423",
    "selection of transitions": "403a 403b 403c 503 504 505 506 533",
    "basic HTTP processor": "201 509 510 518 519 520 522 531 532 534 567 577",
}
"""Every document stands under one topic."""


@dataclass(slots=True)
class Row:
    """One category.

    Attributes:
        failed: What happened, by case.
    """

    cases: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return self.cases - len(self.failed)

    def count(self, case: str, outcome: str | None) -> None:
        self.cases += 1
        if outcome is not None:
            self.failed[case] = outcome


def topic_of(number: str) -> str:
    """The topic of a document of the W3C's."""
    return next(topic for topic, numbers in TOPICS.items() if number in numbers.split())


def w3c_rows() -> dict[str, Row]:
    """By topic, in the order of `TOPICS`.

    Raises:
        NotFetched: The suite is not here.
    """
    rows = {topic: Row() for topic in TOPICS}
    for case in w3c.cases(w3c_folder()):
        rows[topic_of(case.number)].count(case.id, w3c.run(case))
    return rows


def scion_rows() -> dict[str, Row]:
    """By folder.

    Raises:
        NotFetched: The suite is not here.
    """
    rows: dict[str, Row] = {}
    for case in scion.cases(scion_folder()):
        rows.setdefault(case.category, Row()).count(case.id, scion.run(case))
    return dict(sorted(rows.items()))


def markdown(rows: Mapping[str, Row]) -> Iterable[str]:
    """The table."""
    yield from ("| category | passed |", "|---|---|")
    for name, row in rows.items():
        yield f"| {name} | {row.passed} / {row.cases} |"
    yield f"| **all** | **{sum(r.passed for r in rows.values())} / {sum(r.cases for r in rows.values())}** |"
    for row in rows.values():
        yield from (f"- {case}: {outcome}" for case, outcome in row.failed.items())


if __name__ == "__main__":
    try:
        for rows in (scion_rows(), w3c_rows()):
            print("\n".join(markdown(rows)), end="\n\n")
    except NotFetched as error:
        sys.exit(f"not fetched: {error}")
