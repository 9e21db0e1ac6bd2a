"""The conversation with the model: its rules, its words, the machine's own answers, its compaction."""
