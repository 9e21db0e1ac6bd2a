"""Migrates runs whose charts have changed: what would become of a run, why it cannot be migrated, and the migration."""
