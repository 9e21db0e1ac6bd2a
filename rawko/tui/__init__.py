"""The terminal view of a run: `rawko watch`, `rawko run --tui`.

It decides nothing itself: it reads a run through `rawko.app.following.watching` and acts through `rawko.app`. All texts
of a run are hostile: they reach the screen as plain cells through `rawko.vocabulary.visible`, never as markup.
"""
