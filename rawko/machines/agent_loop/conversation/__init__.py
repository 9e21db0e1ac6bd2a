"""The conversation with the model: its rules, the machine's texts and own answers, its compaction."""
