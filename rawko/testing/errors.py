"""The errors of contracts.

AssertionError
└── ContractBroken      the machine does not do what the contract says; shows its state and its last steps

Exception
└── ContractMistake     the contract itself is wrong: an unknown name, a value that is not JSON, a guard without outcome
    └── ContractsUnavailable   the packages that run contracts are not installed
"""

from __future__ import annotations


class ContractBroken(AssertionError):
    """The machine does not behave as the contract says."""


class ContractMistake(Exception):
    """The contract contains a mistake that its author must repair."""


class ContractsUnavailable(ContractMistake):
    """pytest and pytest-bdd are needed to run contracts, and are not installed."""

    def __init__(self, missing: str) -> None:
        super().__init__(f"contracts (.feature files) run with {missing}, which is missing: pip install rawko")
        self.missing = missing
