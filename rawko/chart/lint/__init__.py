"""Rules about charts that are readable: what makes one meaningless, suspicious, or unfit for its bindings."""
