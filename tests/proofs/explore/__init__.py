"""Explorer of order entry: every interleaving of small histories, and samples of larger ones.

Two or three processes run the library's own order entry, session, retries, limits and token manager, each on its own
event loop and clock (`process`). Between them stand a scripted service with its books (`service`,
behind the transport in `wire`) and one shared journal (`journal`). Nothing happens unprompted: whatever is under
way is an event with options, and `world` asks `choices` for the next one. A history is the list of these
choices, so that it can be replayed; `search` enumerates them, the simplest first, or draws them from a seed, and
`judge` holds the reports to the callers against the books::

    python -m tests.proofs.explore --exhaust                     # every history of every small scope
    python -m tests.proofs.explore --histories 100000 --seed 0   # drawn from larger ones
    python -m tests.proofs.explore --replay one-place:3=4        # one history, step by step

Faults are options that cost one each. A scope says which kinds there are and how many faults a history may hold.
A journal statement takes effect without acknowledgement, is repeated after statements of other processes, fails, takes
effect after it has failed, or is acknowledged late. The journal is unreachable for longer than a lease. Its clock
jumps. A submit is not sent, vanishes, is answered with 429 or 401, or is processed and its answer lost or replaced by
a proxy's. Lists are refused, lost, late, or hold absurd times. A process freezes (with or without its clock),
dies, or is cancelled between any two callbacks of its loop. An event of the account stream costs nothing and brings
a look forward.

Scopes are played again with an adversary and without the echo of external identifiers, where an order may stay open in
the end that another entry fits as well, or whose entry's clock was set. Six hold one working order instead, which is
cancelled or replaced (`service.Life`). The page that ``--write`` makes describes them.

Invariants of every history:

- at most one order of ours for each identifier, and no order without an entry;
- the report to a caller (placement, error, notes and attributes of a cancellation) agrees with the books;
- an order left to ``recover()`` is open, and the next ``recover()`` of a healthy process returns it;
- an entry closed as ``not_sent`` or ``refused`` has no order, one closed as ``placed`` has one;
- no order request goes out without the version that was asked for;
- the outcome of a change, and its fills, agree with the books. A change is repeated only after a refusal;
- a replacement that never worked is not applied, and a change refused for now is not given up before its bound;
- a cancelled call ends cancelled, and no error is raised that is not documented.

Histories keep these assumptions, which the documentation of order entry states:

- An order is listed within the visibility delay after its submit was sent, also when it arrives late. Only ``held``
  breaks this, without resubmission. With it there are two orders (``held-resubmitted``, which a test plays).
- Orders are sent again only where ``resubmit`` asks for it.
- 429, and 401 in the service's own envelope, are sent before anything was processed. An error in the service's own
  envelope with another status of 4xx is its own answer. Proxies write their own pages and codes.
- Statements of the journal are atomic, and acknowledged ones are durable: there is one journal with one history.
  In the scope ``moved``, its file is moved away. Calls that begin later must not send.
- An abandoned journal statement takes effect soon or never (within ``Times.link``).
- A process freezes and dies where it waits, not between its last check and the write of a request.
- The journal's clock may jump, once or twice, by less than a minute.

Searches recognise states: when a history comes to one where another history has been, it ends there. A state holds the
observations of every process, the journal, the books, the events under way, and the time. Events that concern one
process alone are not interleaved with others' events in the same moment: every order of them has the same result.
"""
