"""What the embedded draft may be sure of: a turn in view that tells all that is asked and that nothing renewed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.core.records import Message
from tests.helpers.plain_sentences import read_plainly

Opener = Callable[..., Controller]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    read_plainly(monkeypatch)


SPRING = datetime(2026, 4, 1, 12, tzinfo=UTC)


def test_the_embedded_draft_is_sure_of_the_one_turn_that_tells(converse: Opener) -> None:
    controller = converse(embedded_threshold=0.5)
    controller.turn("The zeppelin leaves at 9:40.")
    controller.turn("The kettle is blue.")
    sure = controller.turn("When does the zeppelin leave?")
    assert sure.retrievals == 0 and "9:40" in sure.text and sure.evidence[0].hit.text == "The zeppelin leaves at 9:40."
    controller.turn("The zeppelin leaves at noon on Sundays.")
    unsure = controller.turn("When does the zeppelin leave?")
    assert unsure.draft_uncertainty == 1.0 and unsure.retrievals > 0, "two turns tell"


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("turns", "question", "now"),
    [
        (["I live in Lisbon.", "My boss is called Rui.", "I moved to Porto last week."], "Where do I live?", "Porto"),
        (
            ["My sister works at Bosch.", "My sister left Bosch, she works at Siemens."],
            "Where does my sister work?",
            "Siemens",
        ),
    ],
)
def test_the_embedded_draft_leaves_what_was_renewed_to_the_facts(
    converse: Opener, turns: list[str], question: str, now: str
) -> None:
    """The older statement is worded more like the question; the newer one holds."""
    controller = converse(flush=True)
    for turn in turns:
        controller.turn(turn)
    answer = controller.consider(question)
    assert answer.text == now and answer.retrievals == 1 and answer.draft_uncertainty == 1.0


@pytest.mark.usefixtures("plain")
def test_what_is_told_of_another_person_renews_nothing(converse: Opener) -> None:
    controller = converse(flush=True)
    for turn in ("Ana lives in Porto.", "Ben lives in Rome."):
        controller.turn(turn)
    answer = controller.consider("Where does Ana live?", threshold=0.6)
    assert answer.retrievals == 0 and "Porto" in answer.text and "Rome" not in answer.text


@pytest.mark.usefixtures("plain")
def test_a_statement_of_what_is_asked_needs_no_facts(converse: Opener) -> None:
    controller = converse(flush=True)
    for turn in ("My boss is called Rui.", "I live in Porto."):
        controller.turn(turn)
    answer = controller.consider("Where do I live?")
    assert answer.retrievals == 0 and answer.text == "Porto" and answer.evidence[0].text == "I live in Porto."


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("turns", "question", "now"),
    [
        (["Odalys speaks Ladin.", "Odalys speaks Votic.", "Odalys no longer speaks Votic."], None, "Ladin"),
        (["Odalys speaks Ladin.", "My boss is called Rui.", "Odalys speaks Votic."], None, "Ladin, Votic"),
        (["I live in Lisbon.", "My boss is called Rui.", "Ben moved to Rome."], "Where do I live?", "Lisbon"),
        (
            ["I live in Lisbon.", "My boss is called Rui.", "I will live in Porto from 2031."],
            "Where do I live?",
            "Lisbon",
        ),
    ],
)
def test_a_draft_that_does_not_tell_all_of_it_leaves_it_to_the_facts(
    converse: Opener, turns: list[str], question: str | None, now: str
) -> None:
    """What is no longer so, one of several, and what is true of somebody else or not yet answers no question."""
    controller = converse(flush=True, active_turns=2, recent_turns=1, summary_batch=1)
    for turn in turns:
        controller.turn(turn, now=SPRING)
    answer = controller.consider(question or "Which languages does Odalys speak?", now=SPRING)
    assert answer.draft_uncertainty == 1.0 and answer.text == now


def test_what_came_in_late_is_left_to_the_facts(converse: Opener) -> None:
    """The last message is from before the one that holds, which has the later time."""
    controller = converse(flush=True)
    said = [("The version of the Sorrel plugin is 4.6.", 9), ("The version of the Sorrel plugin is 3.1.", 2)]
    for text, days in said:
        message = Message("user", text, timestamp=SPRING + timedelta(days=days))
        controller.memory.add(message, user_id="ada", run_id="chat")
    controller.memory.flush()
    answer = controller.consider("What version is the Sorrel plugin?", now=SPRING + timedelta(days=30))
    assert answer.text == "4.6" and answer.retrievals == 1


@pytest.mark.usefixtures("plain")
def test_what_was_said_elsewhere_since_is_not_overlooked(converse: Opener) -> None:
    controller = converse(flush=True)
    controller.turn("I live in Lisbon.")
    assert controller.consider("Where do I live?").retrievals == 0
    work = Controller(controller.memory, user_id="ada", run_id="work")
    work.turn("I moved to Porto.")
    answer = controller.consider("Where do I live?")
    assert answer.text == "Porto" and answer.draft_uncertainty == 1.0


@pytest.mark.usefixtures("plain")
def test_what_another_agent_was_told_since_is_not_elsewhere(converse: Opener) -> None:
    memory = converse(flush=True).memory
    one, other = (Controller(memory, user_id="ada", agent_id=agent) for agent in ("one", "other"))
    one.turn("I live in Lisbon.")
    other.turn("I moved to Porto.")
    assert one.consider("Where do I live?").retrievals == 0


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("turns", "question", "now"),
    [
        (["I moved to Oslo.", "I live in Rome.", "I moved to Oslo.", "haha ok"], "Where do I live?", "Oslo"),
        (["My sister Marta called.", "My sister works at Bosch.", "Marta joined Siemens."], None, "Siemens"),
        (["My sister works at Bosch.", "Nothing new here.", "I moved to Oslo."], None, "Bosch"),
    ],
)
def test_a_draft_says_nothing_that_the_facts_have_left_behind(
    converse: Opener, turns: list[str], question: str | None, now: str
) -> None:
    """A repeat that the gate put off is read all the same, and "my sister" may be anybody who is named."""
    controller = converse(flush=True, config={"gate": {"rule": "composition"}})
    for turn in turns:
        controller.turn(turn)
    assert now in controller.consider(question or "Where does my sister work?").text


@pytest.mark.usefixtures("plain")
def test_what_is_asked_of_another_topic_is_not_answered(converse: Opener) -> None:
    controller = converse(flush=True)
    Controller(controller.memory, user_id="ada", run_id="work").turn("My home phone number is 777-0000.")
    for turn in ("My mobile phone number is 555-1234.", "My boss is called Rui."):
        controller.turn(turn)
    assert controller.consider("What is my home phone number?").text == "777-0000"
    assert controller.consider("What is my mobile phone number?").retrievals == 0


@pytest.mark.usefixtures("plain")
def test_what_the_turn_says_itself_goes_before_what_was_said(converse: Opener) -> None:
    controller = converse(flush=True)
    controller.turn("I live in Rome.", now=SPRING - timedelta(days=10))
    answer = controller.consider("I moved to Oslo yesterday. Where do I live?", now=SPRING)
    assert answer.text == "Oslo" and answer.retrievals == 0
    turn = controller.turn("I moved to Oslo yesterday. Where do I live?", now=SPRING)
    assert "Oslo" in turn.text and controller.consider("Where do I live?", now=SPRING).text == "Oslo"


@pytest.mark.usefixtures("plain")
def test_what_is_asked_on_is_the_question_before(converse: Opener) -> None:
    controller = converse(flush=True)
    for turn in ("My sister works at Bosch.", "My sister left Bosch, she works at Siemens.", "I moved to Rome."):
        controller.turn(turn)
    controller.turn("I live in Lisbon.")
    assert controller.turn("Where does my sister work?").text == "Siemens"
    home = controller.turn("Where do I live?")
    assert home.retrievals == 0 and "Lisbon" in home.text
    controller.turn("Good to know.")
    assert controller.turn("And before that?").text == "Rome"
    controller.turn("What is the kettle made of?")
    assert "Rome" not in controller.turn("And before that?").text, "nothing is known of the kettle"


def test_a_message_of_another_run_that_was_stored_before_may_be_of_later(converse: Opener) -> None:
    controller = converse(flush=True)
    for run, version, days in (("work", "4.6", 9), ("chat", "3.1", 2)):
        said = Message("user", f"The version of the Sorrel plugin is {version}.", SPRING + timedelta(days=days))
        controller.memory.add(said, user_id="ada", run_id=run)
    controller.memory.flush()
    assert controller.consider("What version is the Sorrel plugin?", now=SPRING + timedelta(days=30)).text == "4.6"


def test_what_is_to_expire_is_no_part_of_the_conversation(converse: Opener) -> None:
    controller = converse(flush=True)
    code = "The gate code is 4411."
    controller.memory.add(
        code, user_id="ada", run_id="chat", timestamp=SPRING, now=SPRING, expiration_date=SPRING + timedelta(days=2)
    )
    first, later = (controller.consider("What is the gate code?", now=SPRING + timedelta(days=n)) for n in (1, 5))
    assert "4411" in first.text and first.retrievals > 0
    assert "4411" not in later.text and not controller.working_memory(now=SPRING).context


@pytest.mark.parametrize(
    "told",
    [
        [("work", None, "I live in Rome."), ("chat", "Kim", "I live in Oslo.")],
        [("chat", "Kim", "I live in Oslo."), ("chat", "Ada", "I live in Rome.")],
    ],
)
def test_what_another_speaker_says_of_themselves_is_no_answer(
    converse: Opener, told: list[tuple[str, str | None, str]]
) -> None:
    controller = converse(flush=True)
    for days, (run, name, text) in enumerate(told):
        message = Message("user", text, timestamp=SPRING + timedelta(days=days), name=name)
        controller.memory.add(message, user_id="ada", run_id=run)
    assert controller.consider("Where do I live?", now=SPRING + timedelta(days=9)).text == "Rome"
    assert controller.consider("Where does Kim live?", now=SPRING + timedelta(days=9)).text == "Oslo"
