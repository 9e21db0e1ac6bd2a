"""The arbiter's laboratory: asks recorded decisions again, with less input or other settings (S6-111, S6-114)."""
