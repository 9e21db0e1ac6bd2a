"""The phrases of contracts: sismic's, and rawko's for actors, context, guards, effects and receipts.

docs/contracts.md describes each phrase; `book` contains all of them.
"""
