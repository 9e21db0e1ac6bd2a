"""Fragments: states that charts share. Each use is expanded when a chart is loaded, before its keys are read."""
