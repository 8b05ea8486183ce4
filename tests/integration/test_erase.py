"""Erasure is real: afterwards no byte of the text is in any file of the store, and no state remembers it."""

from __future__ import annotations

import gc
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, date, datetime
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS, set_meta
from nscma_torch.core.errors import InvalidInputError, NotFoundError, StoreBusyError
from nscma_torch.core.records import EraseReceipt, Message, ProfileLine, Scope, Statement
from nscma_torch.curator.store import profiles
from nscma_torch.episodic.index import unit_changes
from nscma_torch.episodic.log import streams
from nscma_torch.features.skills import rows as skills
from nscma_torch.maintenance import file_erasure
from nscma_torch.semantic.store import decisions, entities, facts, namespaces
from nscma_torch.semantic.store.decisions import NewDecision
from tests.helpers.telling import curate, lives, marked, micros, tell

pytestmark = pytest.mark.sqlite_file("it searches the file for bytes")

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
SECRET = (
    "Clandestinely, Theodora Vanterpool transferred the pomegranate inheritance to Liechtenstein yesterday. "
    "She was diagnosed with hyperthyroidism, and her passphrase is quixotically-marmalade. 她的护照号码是绝密的。"
)
LABELS = {
    "name": "Wilhelmina Quarterstaff",
    "session": "consultation-8842-zugzwang",
    "metadata": "labyrinthine-dossier",
}


def traces(texts: Iterable[str]) -> set[bytes]:
    """What must not be found: each text, its long words and their stems, in UTF-8, UTF-16 and lower case."""
    found = set()
    for text in texts:
        words = re.findall(r"[^\W\d_]{9,}", text)
        for piece in {text, text[10:40], text[-24:], *words, *(word[:8].lower() for word in words)}:
            for form in {piece, piece.lower()}:
                found |= {form.encode(), form.encode("utf-16-le")}
    return found


def still_there(folder: Path, wanted: set[bytes]) -> dict[str, list[bytes]]:
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    hits = {name: [piece for piece in wanted if data.find(piece) >= 0] for name, data in files.items()}
    return {name: pieces for name, pieces in hits.items() if pieces}


def secret_message() -> Message:
    return Message(
        "user", SECRET, NOW, LABELS["name"], LABELS["session"], metadata={"note": LABELS["metadata"]},
        idempotency_key="key-of-the-thunderstorm",
    )  # fmt: skip


def assert_gone(memory: Memory, receipt: EraseReceipt, folder: Path, wanted: set[bytes]) -> None:
    """In the files as they are now, with the store open, and again when it is closed."""
    assert receipt.found == 0
    assert {Path(name).name for name in receipt.checked} >= {"store.db"}
    assert {Path(name) for name in receipt.checked} == set(memory.components.database.files())
    assert still_there(folder, wanted) == {}
    assert memory.verify() == []
    memory.close()
    assert still_there(folder, wanted) == {}


def test_the_search_for_traces_can_fail(memory: Memory, tmp_path: Path) -> None:
    memory.add(secret_message(), user_id="ada")
    found = set().union(*still_there(tmp_path, traces([SECRET, *LABELS.values()])).values())
    assert SECRET.encode() in found
    assert all(label.encode() in found for label in LABELS.values())
    assert b"liechten" in found  # the lexical index holds stems


@pytest.mark.parametrize("flushed", [True, False])
def test_an_erased_message_leaves_no_byte(flushed: bool, open_memory: Open, tmp_path: Path, conversation: Any) -> None:
    memory, idle = open_memory(), open_memory()
    list(memory.add_many(conversation(25, seed=1, long=False), user_id="ada", now=NOW))
    target = memory.add(secret_message(), user_id="ada", now=NOW)[0].id
    list(memory.add_many(conversation(25, seed=2, long=False), user_id="ada", now=NOW))
    if flushed:
        memory.flush()
        assert memory.search("inheritance", user_id="ada", kinds=("atomic_fact",))
    idle.search("Liechtenstein", user_id="ada")  # another process that has read it and sits there
    others = [episode.id for episode in memory.log(user_id="ada") if episode.id != target]
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert receipt.rows["episodes"] == 1 and receipt.rows["units"] >= 1 and receipt.rows["postings"] > 10
    assert receipt.item_id == target
    assert [episode.id for episode in memory.log(user_id="ada")] == others
    for reader in (memory, idle):
        assert target not in [hit.id for hit in reader.search("Theodora Vanterpool Liechtenstein", user_id="ada")]
        assert reader.get(target, user_id="ada") is None
    with pytest.raises(NotFoundError):
        memory.history(target, user_id="ada")
    with pytest.raises(NotFoundError):
        memory.erase(user_id="ada", memory_id=target)
    assert "Vanterpool" not in "\n".join(memory.export())
    idle.components.database.close()
    assert_gone(memory, receipt, tmp_path, traces([SECRET, *LABELS.values()]) | {b"key-of-the-thunderstorm"})


def cached_words() -> dict[str, set[str]]:
    """The words of each `functools` cache of this library in the process, in its keys and results."""
    found: dict[str, set[str]] = {}
    for one in gc.get_objects():
        if type(one) is _lru_cache_wrapper and one.__module__.startswith("nscma_torch"):
            words = set(re.findall(r"\w+", repr(gc.get_referents(one)).casefold()))
            name = getattr(one, "__qualname__", "statements")  # those of a connection to SQLite
            found.setdefault(f"{one.__module__}.{name}", set()).update(words)
    return found


@pytest.mark.parametrize("whole", [True, False])
def test_no_cache_of_the_process_keeps_a_word_of_it(open_memory: Open, whole: bool) -> None:
    memory = open_memory()
    told = "Theodora Vanterpool lives in Llanfairpwll."
    said = memory.add([told, told + " Indeed.", "She vanterpooled."], user_id="theodora", now=NOW)
    memory.add("I like tea.", user_id="bob", now=NOW)
    memory.flush()
    memory.search("Where does Theodora Vanterpool live?", user_id="theodora", strategy="graph", now=NOW)
    gone = {"theodora", "vanterpool", "vanterpooled", "llanfairpwll"}
    holders = {name.rpartition(".")[2] for name, words in cached_words().items() if words & gone}
    expected = {"_token_terms", "_term_vector", "wording", "wordings", "deflated_size", "name_key", "words_of"}
    assert holders >= expected, "the search for words can fail"
    for target in [None] if whole else [each.id for each in said]:
        memory.erase(user_id="theodora", memory_id=target)
    assert {name for name, words in cached_words().items() if words & gone} == set()


def test_an_erased_user_leaves_no_byte(open_memory: Open, tmp_path: Path, conversation: Any) -> None:
    memory = open_memory()
    list(memory.add_many(conversation(20, seed=1, long=False), user_id="bob", now=NOW))
    memory.add("A plain line before the secret was told.", user_id="adamantine-user", now=NOW)
    memory.add(secret_message(), user_id="adamantine-user", agent_id="agent-orange-juice", now=NOW)
    document = Message("document", "The catacombs inventory lists seventeen chandeliers.", NOW, source="catacombs.md")
    memory.add(document, user_id="adamantine-user", now=NOW)
    first = memory.add("I lost my sapphire necklace.", user_id="adamantine-user", now=NOW)[0].id
    memory.update(first, "I found my sapphire necklace again in the conservatory.", user_id="adamantine-user")
    memory.delete(first, user_id="adamantine-user")
    memory.flush()
    memory.search("sapphire", user_id="adamantine-user")
    before = memory.digest(user_id="bob")
    receipt = memory.erase(user_id="adamantine-user")
    assert receipt.rows["episodes"] == 4 and receipt.rows["streams"] == 3 and receipt.rows["history"] == 2
    assert memory.log(user_id="adamantine-user") == []
    assert memory.digest(user_id="bob") == before
    assert memory.search("library in Kyoto", user_id="bob")
    with pytest.raises(NotFoundError):
        memory.erase(user_id="adamantine-user")
    texts = [SECRET, *LABELS.values(), document.content, "I lost my sapphire necklace.", "catacombs.md"]
    assert_gone(memory, receipt, tmp_path, traces(texts) | {b"adamantine", b"orange-juice", b"conservatory"})


def test_erased_versions_of_an_edited_message_go_too(memory: Memory, tmp_path: Path) -> None:
    target = memory.add("The first version mentions cauliflower.", user_id="ada")[0].id
    memory.update(target, "The second version mentions asparagus.", user_id="ada")
    memory.update(target, "The third version mentions aubergines.", user_id="ada")
    memory.add("Something else entirely.", user_id="ada")
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert_gone(memory, receipt, tmp_path, {b"cauliflow", b"asparagus", b"aubergine"})


def test_an_erased_message_of_many_pages(open_memory: Open, tmp_path: Path, light_surprise: Any) -> None:
    """Overflow pages, freed pages and the -wal file all hold parts of it for a while."""
    memory = open_memory(surprise_model=light_surprise)
    memory.add("A short one stays.", user_id="ada")
    text = " ".join(f"paragraph{i}overflowing across pages." for i in range(3000))
    target = memory.add(text, user_id="ada")[0].id
    assert still_there(tmp_path, {b"overflowing"})
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert_gone(memory, receipt, tmp_path, {b"overflowing", b"paragraph1", b"overflow"})


def stream_rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT id, proxy_fingerprint, proxy_state, gate_state FROM streams").fetchall()


@pytest.mark.parametrize("place", ["first", "middle", "last", "only"])
def test_the_state_of_the_stream_is_that_of_one_which_never_saw_it(
    place: str, open_memory: Open, tmp_path: Path, conversation: Any
) -> None:
    messages = [] if place == "only" else conversation(14, seed=3, long=False)
    at = {"first": 0, "middle": 7, "last": 14, "only": 0}[place]
    saw, never = open_memory("saw.db"), open_memory("never.db")
    # said again later: only a stream that saw the secret takes this for a repetition
    echo = [Message("user", SECRET.replace("yesterday", "today"), NOW)] if place == "middle" else []
    ids = [
        a.id for a in saw.add_many([*messages[:at], secret_message(), *messages[at:], *echo], user_id="ada", now=NOW)
    ]
    list(never.add_many([*messages, *echo], user_id="ada", now=NOW))
    receipt = saw.erase(user_id="ada", memory_id=ids[at])
    assert len(receipt.rebuilt) == (place != "only")
    if place == "only":
        assert stream_rows(tmp_path / "saw.db") == []
        never.add("My sister Ana moved to Porto.", user_id="ada", now=NOW)
    else:
        assert stream_rows(tmp_path / "saw.db") == stream_rows(tmp_path / "never.db")
        never.add("My sister Ana moved to Porto.", user_id="ada", now=NOW)
    saw.add("My sister Ana moved to Porto.", user_id="ada", now=NOW)
    assert saw.log(user_id="ada")[-1].decision == never.log(user_id="ada")[-1].decision


NAMED: dict[str, Any] = {"agent_id": "hepatology-agent", "run_id": "intake-run-zqwelsh"}


def test_the_last_message_takes_its_names_with_it(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory()
    memory.add("I live in Leeds.", user_id="ada")
    said = [
        Message("document", text, NOW, session="visit-of-thorbjorn", source="clinic-letter-zqwelsh.pdf")
        for text in ("The appointment is on Monday.", "My sister Ana lives in Oslo.")
    ]
    first, last = (one.id for one in memory.add_many(said, user_id="ada", **NAMED))
    memory.flush()
    memory.sleep(user_id="ada", now=NOW)
    names = {name.encode() for name in (said[0].source, said[0].session, *NAMED.values()) if name}
    assert memory.erase(user_id="ada", memory_id=first).found == 0, "the other message is of the same document"
    assert set().union(*still_there(tmp_path, names).values()) == names
    assert_gone(memory, memory.erase(user_id="ada", memory_id=last), tmp_path, names)


def test_a_receipt_counts_no_word_of_other_messages(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, other = open_memory(), open_memory()
    memory.add("Where does Bartholomea work, and who is KRISTOFFERSSON?", user_id="ada", now=NOW)
    for text in ("My sister Bartholomea works at Bosch.", "I met Kristoffersson."):
        target = memory.add(text, user_id="ada", now=NOW)[0].id
        memory.flush()
        assert memory.erase(user_id="ada", memory_id=target).found == 0, text

    shared = "I moved from Leeds to Aberystwyth."
    target = memory.add(shared, user_id="ada", now=NOW)[0].id
    search, brief = file_erasure._in_files, [other.add(f"{shared} Briefly.", user_id="bob", now=NOW)[0].id]

    def beside_others(*arguments: Any) -> set[bytes]:
        """Another process adds a message before the files are searched, and erases one before the rows are read."""
        found = search(*arguments)
        if brief:
            other.erase(user_id="bob", memory_id=brief.pop())
        return found

    monkeypatch.setattr(file_erasure, "_in_files", beside_others)
    assert memory.erase(user_id="ada", memory_id=target).found == 0

    target = memory.add("Zugzwang is a predicament.", user_id="ada", now=NOW)[0].id
    with memory.components.database.write(ALL_USERS) as connection:
        set_meta(connection, "forgotten copy", "Zugzwang is a predicament.")
    found = memory.erase(user_id="ada", memory_id=target).found
    assert found and found > 0, "a trace that is one is counted"


def test_positions_of_erased_messages_are_not_given_out_again(memory: Memory) -> None:
    ids = [added.id for added in memory.add([{"role": "user", "content": f"ok {i}"} for i in range(3)], user_id="ada")]
    memory.erase(user_id="ada", memory_id=ids[2])
    memory.add("ok 2", user_id="ada")
    assert [episode.position for episode in memory.log(user_id="ada")] == [0, 1, 3]
    assert memory.verify() == []


def test_reset_erases_every_user(memory: Memory, tmp_path: Path) -> None:
    for user in ("ada", "bob", "cleo"):
        memory.add(f"{user} keeps a zephyrlike secret.", user_id=user)
    memory.reset()
    assert memory.stats().messages == 0
    assert still_there(tmp_path, {b"zephyrlike", b"zephyr"}) == {}
    memory.add("And we begin anew.", user_id="ada")
    assert len(memory.search("anew", user_id="ada")) == 1


def secret_facts(memory: Memory) -> str:
    """Ada's facts, among them some that only one message knows of; returns its id."""
    tell(memory, "Theodora lives in Oslo.", lives("Theodora", "Oslo"), at=0)
    curate(memory, at=0)
    target = tell(
        memory,
        "THEODORA lives in Llanfairpwll, and so does Bartholomew.",
        lives("THEODORA", "Llanfairpwll"),
        lives("Bartholomew", "Llanfairpwll", topic="wintertime"),
        Statement("Bartholomew", "favourite", "Chartreuse", "absintheware", replaces="Vermillion"),
        at=1,
        name="Wilhelmina",
    )
    (*_, last) = curate(memory, at=1)
    namespace = namespaces.namespace_id("ada", None)
    with memory.components.database.write(ALL_USERS) as connection:
        log = NewDecision("ARCHIVE", "theodora", "lives_in", "", "Oslo", "Llanfairpwll took its place", None)
        merge = NewDecision("MERGE", "Bartholomew", "", "", "Theodora", "", None, before={"key": "bartholomew"})
        decisions.insert(connection, namespace, "ada", [log, merge], micros(1))
        entities.set_canonical(connection, namespace, {"bartholomew": "theodora"})
        lines = [
            ProfileLine(0, "Somebody moved to Llanfairpwll.", date(2024, 1, 2), (last.id,)),
            ProfileLine(1, "Rain is likely.", date(2024, 1, 2), ("another",)),
        ]
        profiles.replace(connection, "ada", None, lines)
    return target


def test_facts_of_an_erased_message_leave_no_byte(memory: Memory, tmp_path: Path) -> None:
    target = secret_facts(memory)
    gone = {
        b"lanfair",
        b"artholomew",
        b"hartreuse",
        b"ermillion",
        b"wintertime",
        b"absinthe",
        b"ilhelmina",
        b"THEODORA",
    }
    assert set().union(*still_there(tmp_path, gone).values()) == gone
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert "facts: theodora lives_in" in receipt.rebuilt
    assert not any(piece.decode() in line for line in receipt.rebuilt for piece in gone)
    for table, n in (("statements", 3), ("facts", 3), ("entities", 3), ("decisions", 4), ("profile", 1)):
        assert receipt.rows[table] >= n, table
    assert_gone(memory, receipt, tmp_path, gone | {b"lanfairpwll"})


def test_names_that_others_wrote_stay(memory: Memory) -> None:
    target = tell(memory, "ANN lives in Oslo.", lives("ANN", "Oslo"), at=0)
    tell(memory, "Ann lives in Oslo too.", lives("Ann", "Oslo"), at=1)
    tell(memory, "Bo lives in Rome.", lives("Bo", "Rome"), at=2)
    curate(memory, at=3)
    memory.erase(user_id="ada", memory_id=target)
    assert marked(memory) == [("ann", "lives_in", "")]
    with memory.components.database.read(ALL_USERS) as connection:
        assert entities.names(connection, namespaces.namespace_id("ada", None)) == {
            "ann": "Ann", "bo": "Bo", "oslo": "Oslo", "rome": "Rome"
        }  # fmt: skip
        assert [d.subject for d in decisions.select_decisions(connection, Scope("ada"))] == ["bo", "ann"]
    assert [row.object for row in curate(memory, at=4)] == ["Oslo"]
    assert memory.verify() == []


def test_an_entity_that_others_were_merged_into(memory: Memory) -> None:
    tell(memory, "Bob lives in Oslo.", lives("Bob", "Oslo"), at=0)
    target = tell(memory, "Robert lives in Rome.", lives("Robert", "Rome"), at=1)
    namespace = namespaces.namespace_id("ada", None)
    with memory.components.database.write(ALL_USERS) as connection:
        entities.set_canonical(connection, namespace, {"bob": "robert"})
    curate(memory, at=2)
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert receipt.rows["facts"] == 2, "also Bob's, which stood under Robert's name"
    assert marked(memory) == [("bob", "lives_in", "")]
    (fact,) = curate(memory, at=3)
    assert (fact.subject, fact.object, fact.status) == ("bob", "Oslo", "active")
    assert memory.verify() == []


def test_a_user_who_has_only_skills(memory: Memory) -> None:
    (new,) = memory.components.indexer.units("skill", ["Bread: hunger"], [skills.origin(Scope("ada"), "Bread", 0)])
    with memory.components.database.write(ALL_USERS) as connection:
        streams.touch_user(connection, "ada", changed=True)
        skills.put(connection, Scope("ada"), "Bread", "hunger", ["bake"], new, 0)
    assert memory.erase(user_id="ada").rows["skills"] == 1
    assert memory.stats().users == 0


def test_facts_and_summaries_that_saw_an_erased_message_are_made_again(open_memory: Open, tmp_path: Path) -> None:
    """From the text to its facts and back, with everything that works in the background."""
    memory = open_memory(config={"hierarchy": {"min_members": 2, "gamma": 0.1}})
    said = ["I live in Oslo.", "My favourite colour is red.", "I moved from Oslo to Llanfairpwll.", "My dog is old."]
    for n, text in enumerate(said):
        memory.add(text, user_id="ada", timestamp=NOW.replace(day=n + 1), now=NOW.replace(day=9))
    memory.flush()
    assert homes(memory) == [("Oslo", "archived"), ("Llanfairpwll", "active")]
    receipt = memory.erase(user_id="ada", memory_id=memory.log(user_id="ada")[2].id)
    assert len(receipt.rebuilt) == 3, "its stream, its hierarchy, and where ada lives"
    assert receipt.rows["statements"] >= 1 and receipt.rows["facts"] >= 1
    memory.flush()
    assert homes(memory) == [("Oslo", "active")]
    assert memory.stats().failures == ()
    assert_gone(memory, receipt, tmp_path, {b"lanfairpw", b"Llan"})


def homes(memory: Memory) -> list[tuple[str, str]]:
    with memory.components.database.read(ALL_USERS) as connection:
        found = facts.select_facts(connection, Scope("ada"), relations=["lives_in"], statuses=("active", "archived"))
    return [(fact.object, fact.status) for fact in found]


def test_an_erased_skill_leaves_no_byte(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(config={"store": {"busy_timeout": 0.2}})
    memory.add("We broke a vase.", user_id="ada", now=NOW)
    keeper = memory.add_skill("Bread", trigger="someone is hungry", steps=["bake"], user_id="ada", now=NOW)
    before = memory.digest()
    with pytest.raises(NotFoundError, match="no skill"):
        memory.erase(user_id="ada", skill_id="no such id")
    gone = traces(["Kintsugi repairs porcelain", "somebody dropped earthenware", 'say "varnishing" aloud'])
    words = {word for word in gone if b"varnishing" in word or b"porcelain" in word or b"earthenware" in word}
    for busy in (False, True):
        skill = memory.add_skill(
            "Kintsugi repairs porcelain", trigger="somebody dropped earthenware", steps=['say "varnishing" aloud'],
            user_id="ada", now=NOW,
        )  # fmt: skip
        memory.archive_skill(skill.id, user_id="ada", now=NOW)
        memory.restore_skill(skill.id, user_id="ada", now=NOW)
        assert {b"Kintsugi repairs porcelain", b"varnishing"} <= set().union(*still_there(tmp_path, words).values())
        assert memory.search("porcelain", user_id="ada", kinds=("skill",), threshold=0.1)
        with pytest.raises(NotFoundError, match="no skill"):
            memory.erase(user_id="eve", skill_id=skill.id)
        with pytest.raises(InvalidInputError, match="not both"):
            memory.erase(user_id="ada", memory_id="a", skill_id=skill.id)
        with memory.components.database.read(ALL_USERS) as connection:
            generation, epoch = user_versions.version(connection, "ada")
        if busy:  # another process reads: the rows go, the files are rewritten the next time
            with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
                other.execute("BEGIN")
                other.execute("SELECT * FROM skills").fetchone()
                with pytest.raises(StoreBusyError, match="erase again"):
                    memory.erase(user_id="ada", skill_id=skill.id)
        receipt = memory.erase(user_id="ada", skill_id=skill.id)
        with memory.components.database.read(ALL_USERS) as connection:
            assert user_versions.version(connection, "ada")[1] > epoch
            assert unit_changes.since(connection, "ada", generation) is None, "other processes read all units anew"
        assert receipt.item_id == skill.id and receipt.found == 0 and receipt.rebuilt == ()
        assert {name: receipt.rows.get(name, 0) for name in ("skills", "units")} == dict.fromkeys(
            ("skills", "units"), 0 if busy else 1
        )
        assert memory.digest() == before and memory.skills(user_id="ada", archived=True) == [keeper]
        assert memory.search("porcelain", user_id="ada", kinds=("skill",)) == []
        assert still_there(tmp_path, gone | {skill.id.encode()}) == {}
    assert_gone(memory, receipt, tmp_path, gone)
