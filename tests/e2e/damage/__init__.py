"""State folders, journals, disks and git settings that are damaged, mixed up, full or refuse."""
