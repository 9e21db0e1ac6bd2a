"""The widgets of the view: lists whose items unfold, and dialogs."""
