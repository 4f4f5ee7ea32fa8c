"""Pages as Markdown: what Sphinx would describe stands in them as Python shows it."""

from codegen.site import plain, signatures


def test_directives_become_what_they_stand_for() -> None:
    page = plain.render(
        "# Names\n\nSee {py:obj}`Client <brokerage_async.client.Client>` and {py:obj}`~brokerage_async.errors`.\n\n"
        "```{toctree}\n:hidden:\n\nstart\n```\n"
        "```{eval-rst}\n.. automodule:: brokerage_async.bulk\n```\n"
        "```{py:method} client.orders.live(customer_id)\n:async:\n```\n"
        "```python\nimport asyncio\n```\n"
    )
    assert page.startswith("# Names\n\nSee `brokerage_async.client.Client` and `brokerage_async.errors`.\n")
    assert "### `brokerage_async.bulk.Bulk.market_data(" in page
    assert "```python\nclient.orders.live(customer_id)\n```" in page
    assert "```python\nimport asyncio\n```" in page
    assert "toctree" not in page
    assert "eval-rst" not in page


def test_signatures_show_values_instead_of_private_names() -> None:
    page = plain.render("```{eval-rst}\n.. automodule:: brokerage_async.config\n```\n")
    assert "config.Limits(*, reads: int | None = 32, " in page
    assert "per_operation: Mapping[str, float] = {}" in page
    written = "f(a: float | ~brokerage_async.client._Unset | None = _UNSET, retry: RetryPolicy = _RETRY)"
    assert signatures.plainly(written) == "f(a: float | None = ..., retry: RetryPolicy = RetryPolicy())"


def test_list_of_pages_has_guides_first() -> None:
    titles = {"reference/bulk": "bulk", "start": "Start", "project/security": "Security"}
    lines = plain.index(titles, "A client\nof a service.").splitlines()
    assert lines[2] == "> A client of a service."
    order = [lines.index(line) for line in ("- [Start](start.md)", "- [Security](project/security.md)")]
    assert order == sorted(order)
    assert "- [bulk](reference/bulk.md)" in lines
