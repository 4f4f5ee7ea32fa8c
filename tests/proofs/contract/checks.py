"""Check of schemathesis: a request that the schema allows is refused only for a reason that the contract names."""

import schemathesis
from schemathesis import Case, CheckContext, Response

from tests.proofs.contract.refusals import rules_of, unexplained
from tests.schema.bundle import BUNDLE

RULES = frozenset(rules_of(BUNDLE))


@schemathesis.check
def refusal_is_explained(context: CheckContext, response: Response, case: Case) -> None:
    """Fail for a refusal of a valid request whose reason the contract does not name."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code not in (400, 422):
        return
    for reason in unexplained(response.content, RULES):
        raise AssertionError(f"valid request refused for a reason outside of the contract: {reason}")
