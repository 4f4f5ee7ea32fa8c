"""The protocol of the service without any I/O: requests, responses, pages, retries and tokens as plain values."""
