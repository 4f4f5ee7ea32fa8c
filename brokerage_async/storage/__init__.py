"""Files that must survive a crash: SQLite in a thread of its own, with checks for what SQLite passes over."""
