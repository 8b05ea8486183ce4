"""Filters mean what a plain reading of them says: one rule a line, over generated memories and filters."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.compat.mem0.filters import condition_of

KEYS = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([0.0, 1.0, 1.5]),
    st.booleans(),
    st.sampled_from(["", "work", "Work trip", "2026-01-01", "2026-01-01T00:00:00+00:00", "2026-03-01", "*"]),
)
MEMORIES = st.dictionaries(KEYS, st.one_of(SCALARS, st.none(), st.lists(SCALARS, max_size=3)), max_size=3)
TESTS = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), SCALARS),
    st.tuples(st.sampled_from(["in", "nin"]), st.lists(SCALARS, max_size=3)),
    st.tuples(st.sampled_from(["contains", "icontains"]), st.sampled_from(["", "work", "WORK", "trip"])),
)
CONDITIONS = st.lists(TESTS, min_size=1, max_size=2).map(dict)
PLAIN = st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3), CONDITIONS), max_size=2)


def combined(inner):
    lists = st.lists(inner, min_size=1, max_size=2)
    logical = st.dictionaries(st.sampled_from(["AND", "OR", "NOT"]), lists, max_size=2)
    return st.tuples(PLAIN, logical).map(lambda pair: pair[0] | pair[1])


FILTERS = st.recursive(PLAIN, combined, max_leaves=4)


def expected(filters, memory):
    for key, wanted in filters.items():
        if key == "AND" and not all(expected(one, memory) for one in wanted):
            return False
        if key == "OR" and not any(expected(one, memory) for one in wanted):
            return False
        if key == "NOT" and any(expected(one, memory) for one in wanted):
            return False
        if key in ("AND", "OR", "NOT"):
            continue
        if memory.get(key) is None:
            return False
        if wanted == "*":
            continue
        tests = wanted if isinstance(wanted, dict) else {"in" if isinstance(wanted, list) else "eq": wanted}
        if not all(holds(name, memory[key], value) for name, value in tests.items()):
            return False
    return True


def holds(name, held, value):
    opposite = {"ne": "eq", "nin": "in"}
    if name in opposite:
        return not holds(opposite[name], held, value)
    return any(of_one(name, one, value) for one in ([held, *held] if isinstance(held, list) else [held]))


def of_one(name, held, value):
    if name == "eq":
        return type(held) in alike(value) and held == value
    if name == "in":
        return any(of_one("eq", held, one) for one in value)
    if name == "contains":
        return type(held) is str and value in held
    if name == "icontains":
        return type(held) is str and value.lower() in held.lower()
    if type(held) in (int, float) and type(value) in (int, float):
        sign = (held > value) - (held < value)
    elif moment(held) and moment(value):
        sign = (moment(held) > moment(value)) - (moment(held) < moment(value))
    else:
        return False
    return sign in {"gt": (1,), "gte": (0, 1), "lt": (-1,), "lte": (-1, 0)}[name]


def alike(value):
    return (int, float) if type(value) in (int, float) else (type(value),)


def moment(value):
    days = {"2026-01-01": 1, "2026-01-01T00:00:00+00:00": 1, "2026-03-01": 60}
    return days.get(value) if type(value) is str else None


@settings(max_examples=400, deadline=None)
@given(FILTERS, MEMORIES)
def test_conditions_equal_the_reference(filters, memory):
    assert condition_of(filters)(memory) == expected(filters, memory)


WHAT = [
    ("Budget", {"category": "work", "rank": 5, "tags": ["money", "q1"], "done": True}),
    ("Trip", {"category": "Travel", "rank": 3, "due": "2026-03-01"}),
    ("Cat", {"rank": 1, "done": False}),
]


def found(m, filters):
    search = m.search("notes", filters={"user_id": "ana", **filters}, threshold=0)["results"]
    listed = m.get_all(filters={"user_id": "ana", **filters})["results"]
    assert {one["id"] for one in search} == {one["id"] for one in listed}
    return [one["memory"].split()[0] for one in listed]


def test_the_operators_of_the_guide(m):
    for name, metadata in WHAT:
        m.add(f"{name} notes", user_id="ana", metadata=metadata, infer=False)
    assert found(m, {"category": "work"}) == ["Budget"]
    assert found(m, {"category": {"ne": "work"}}) == ["Trip"]
    assert found(m, {"rank": {"gte": 3, "lt": 5}}) == ["Trip"]
    assert found(m, {"rank": {"in": [1, 5]}}) == ["Budget", "Cat"]
    assert found(m, {"rank": {"nin": [1, 5]}}) == ["Trip"]
    assert found(m, {"category": {"contains": "rav"}}) == ["Trip"]
    assert found(m, {"category": {"icontains": "TRAV"}}) == ["Trip"]
    assert found(m, {"category": "*"}) == ["Budget", "Trip"]
    assert found(m, {"tags": "q1"}) == ["Budget"]
    assert found(m, {"due": {"gt": "2026-02-28T12:00:00Z"}}) == ["Trip"]
    assert found(m, {"done": False}) == ["Cat"]
    assert found(m, {"OR": [{"rank": 1}, {"category": "work"}]}) == ["Budget", "Cat"]
    assert found(m, {"AND": [{"rank": {"gt": 1}}, {"NOT": [{"category": "work"}]}]}) == ["Trip"]
    assert found(m, {"NOT": [{"rank": 1}, {"rank": 3}]}) == ["Budget"]


def test_a_filter_knows_what_is_not_metadata(m):
    m.add([{"role": "user", "content": "Tea notes", "name": "Ana"}], user_id="ana", agent_id="a", infer=False)
    m.add([{"role": "assistant", "content": "Coffee notes"}], user_id="ana", infer=False)
    year = datetime.now(UTC).year
    assert found(m, {"role": "assistant"}) == ["Coffee"]
    assert found(m, {"actor_id": "Ana"}) == found(m, {"agent_id": "a"}) == ["Tea"]
    assert found(m, {"NOT": [{"agent_id": "a"}]}) == ["Coffee"]
    assert found(m, {"created_at": {"gte": f"{year - 1}-01-01", "lt": f"{year + 1}-01-01"}}) == ["Tea", "Coffee"]
    assert found(m, {"data": {"icontains": "tea"}}) == ["Tea"]


def test_a_filter_finds_what_is_far_down(m):
    """The condition bounds the search itself, not the best of it."""
    days = [{"role": "user", "content": f"Notes of day {number}"} for number in range(60)]
    m.add(days, user_id="ana", infer=False)
    m.add("Something else entirely", user_id="ana", metadata={"rare": 1}, infer=False)
    rare = {"user_id": "ana", "rare": {"gt": 0}}
    found = m.search("notes of day", filters=rare, threshold=0, top_k=1)["results"]
    assert [one["memory"] for one in found] == ["Something else entirely"]
