"""What a contract may fail with.

AssertionError
└── ContractBroken      the machine does not do what the contract says; tells where it is and how it got there

Exception
└── ContractMistake     the contract itself is wrong: an unknown name, a value that is not JSON, a guard nobody gives
    └── ContractsUnavailable   what runs contracts is not installed
"""

from __future__ import annotations


class ContractBroken(AssertionError):
    """The machine does not do what the contract says."""


class ContractMistake(Exception):
    """The contract says something that cannot be meant: its author has to repair it."""


class ContractsUnavailable(ContractMistake):
    """pytest and pytest-bdd are needed to run contracts, and are not there."""

    def __init__(self, missing: str) -> None:
        super().__init__(f"contracts (.feature files) run with {missing}, which is missing: pip install rawko")
        self.missing = missing
