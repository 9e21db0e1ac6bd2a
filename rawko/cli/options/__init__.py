"""Options and arguments of commands, each declared once: those of settings in their table, the others here."""
