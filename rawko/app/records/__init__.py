"""What a workspace keeps of its runs besides their journals' rows: records, reports, names, places."""
