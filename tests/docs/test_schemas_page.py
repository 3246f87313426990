"""docs/schemas.md shows what its commands print, on a broker and a registry as `sundial up` leaves them."""

from stack import schemas, topics
from tests.docs.pages import steps, typed


def test_every_command_of_the_page_prints_what_it_shows(broker):
    declared = topics.declared()
    topics.deploy(broker.kafka, declared)
    schemas.register(broker.registry, declared)
    page = steps("schemas.md")
    seen = typed(page, {"SUNDIAL_HOME": str(broker.path)}, seconds=280)
    assert len(seen) == len(page)
    wrong = [f"docs/schemas.md:{step.line}\n{out}" for step, out in zip(page, seen, strict=True) if not step.matches(out)]
    assert not wrong, "\n".join(wrong)
