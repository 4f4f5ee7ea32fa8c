"""Files that must survive a crash, locked or put in place whole, and SQLite with checks for what it passes over."""
