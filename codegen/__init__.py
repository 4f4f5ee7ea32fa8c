"""The generator: reads the schema, writes ``brokerage_async/_generated``. The package itself never imports it."""
