"""Options and arguments of commands, each declared once: options of settings in the settings table, all others here."""
