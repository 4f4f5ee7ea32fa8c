"""Files that must survive a crash: SQLite in a dedicated thread, with checks for what SQLite passes over."""
