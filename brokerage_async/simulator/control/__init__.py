"""Control API and page of a running simulator, on a separate port."""
