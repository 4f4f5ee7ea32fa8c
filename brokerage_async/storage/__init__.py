"""Files that must survive a crash, locked or put in place whole, and SQLite with checks that it leaves out."""
