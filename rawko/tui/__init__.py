"""The terminal view of a run: `rawko watch`, `rawko run --tui`.

A face without logic: it reads a run through `rawko.app.following.watching` and acts through `rawko.app`. All texts of a
run are hostile: they reach the screen as plain cells through `rawko.vocabulary.visible`, never as markup.
"""
