"""Actions on a running simulator, and the control API with its page on a separate port."""
