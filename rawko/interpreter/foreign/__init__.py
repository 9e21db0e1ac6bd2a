"""Interfaces of other tools: sismic's meta-events and evaluators, SCXML's data model. Loaded only when used."""
