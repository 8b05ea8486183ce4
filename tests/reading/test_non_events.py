"""What a sentence says did not come about, in the clause of its value alone."""

from __future__ import annotations

import pytest

from nscma_torch.reading.non_events import not_so

CASES = """
My doctor ruled out [diabetes]. | denied
I was misdiagnosed with [lupus]. | denied
I tested negative for [celiac disease]. | denied
They found no sign of [cancer]. | denied
[Lupus] was ruled out. | denied
I almost moved to [Berlin]. | undone
We nearly adopted a dog called [Rex]. | undone
I was going to move to [Oslo] but stayed in Rome. | undone
I decided against buying a [Porsche]. | undone
She refused to leave [Bosch]. | undone
I turned down [Google] and joined Meta. | not taken
The trip to [Rome] was cancelled. | not taken
I turned down Google and joined [Meta]. |
I was going to move to Oslo but stayed in [Rome]. |
I've lived in [Berlin] for almost ten years. |
Almost all my friends live in [Rome]. |
I almost forgot to mention that I work at [Bosch]. |
I'm nearly finished with my degree at [Yale]. |
My daughter is almost [7]. |
I almost always eat [meat]. |
I avoid [gluten]. |
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_a_marker_counts_in_the_clause_of_its_value(case: str) -> None:
    text, _, expected = case.partition(" |")
    start, end = text.index("["), text.index("]") - 1
    assert not_so(text.replace("[", "").replace("]", ""), start, end) == expected.strip()
