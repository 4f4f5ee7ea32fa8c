"""Control API and page of a running simulator, on a port of their own."""
