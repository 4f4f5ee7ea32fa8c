from tests.simulator.house import House, limit, market


def test_orders_by_account_and_external_identifier(house: House) -> None:
    first = house.place(limit(external_identifier="a"))
    second = house.place(limit(external_identifier="a"), house.accounts[2])
    ledger = house.sim.ledger
    assert [record.order_id for record in ledger.orders(external_identifier="a")] == [first, second]
    assert [record.order_id for record in ledger.orders(account_number=house.accounts[2])] == [second]
    assert ledger.orders(external_identifier="b") == []


def test_events_tell_every_transition_with_its_time(house: House) -> None:
    identifier = house.place(market())
    house.wait(10)
    events = [event for event in house.sim.ledger.events if event.order_id == identifier]
    assert [event.before for event in events] == [None, "Received", "Routed", "Live"]
    assert [event.terminal for event in events] == [False, False, False, True]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [event.seq for event in house.sim.ledger.events] == list(range(1, len(house.sim.ledger.events) + 1))


def test_requests_are_counted_by_operation(house: House) -> None:
    house.place(limit())
    house.ask("GET", "/watchlists", authorization=None)
    ledger = house.sim.ledger
    assert (ledger.count("orders.submit"), ledger.count("watchlists.list"), ledger.count("oauth.token")) == (1, 1, 1)
    assert [entry.operation for entry in ledger.processed()] == ["oauth.token", "orders.submit"]
    assert list(ledger.processed("watchlists.list")) == []
