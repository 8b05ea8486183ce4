"""Other words for the same are no news; another name, number, denial or person is."""

from __future__ import annotations

import pytest

from nscma_torch.reading.restatement import CONTRARY, news, wording


def told(new: str, old: str) -> float:
    return news(wording(new), wording(old))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Oslo is my home these days.", "I live in Oslo."),
        ("My employer is Nordlys.", "I work for Nordlys."),
        ("I paid 40 euros for the lamp.", "The lamp cost me 40 euros."),
        ("I have two kids.", "I've got 2 children."),
        ("I have an allergy to nuts.", "I'm allergic to nuts."),
        ("My brother's name is Tom, he lives in Rome.", "My brother in Rome is called Tom, and he lives by the sea."),
        ("I don't eat meat.", "I never eat meat."),
        ("I have no car.", "I have no car, no bike and no money."),
        ("As I mentioned before, I really love jazz.", "I love jazz."),
        ("我对花生过敏", "我对花生过敏。"),
        ("ok, sure!", "I live in Oslo."),
        ("I moved to Rome from Paris.", "I moved from Paris to Rome last year."),
        ("I went from Paris to Rome, and from Rome to Bari.", "I went from Rome to Bari. I went from Paris to Rome."),
        ("I met Will and Mark for lunch in May.", "In May, for lunch, I met Mark and Will."),
        ("Will you be in Oslo?", "You live in Oslo."),
        ("Ana works at Nordlys.", "Ana works for Nordlys by day."),
    ],
)
def test_the_same_in_other_words_is_no_news(new: str, old: str) -> None:
    assert told(new, old) == 0


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I moved to Oslo.", "I moved to Paris."),
        ("I pay 900 euros a month.", "I pay 950 euros a month."),
        ("I have three children.", "I have two children."),
        ("I don't live in Oslo.", "I live in Oslo."),
        ("I live in Oslo.", "I never lived in Oslo."),
        ("I no longer eat meat.", "I eat meat."),
        ("I used to work at the bank.", "I work at the bank."),
        ("They let me go.", "They pay me."),
        ("I gave up the cello.", "I play the cello."),
        ("I live in Oslo.", "Ana lives in Oslo."),
        ("She lives in Oslo.", "I live in Oslo."),
        ("I moved from Paris to Rome.", "I moved from Rome to Paris."),
        ("I left Paris for Rome.", "I moved from Rome to Paris."),
        ("We flew to New Orleans from New York.", "We flew to New York from New Orleans."),
        ("I switched from tea to coffee.", "I switched from coffee to tea."),
        ("Ana is older than Ben.", "Ben is older than Ana."),
        ("I prefer jam to honey.", "I prefer honey to jam."),
        ("The dentist comes before the optician.", "The optician comes before the dentist."),
        ("Yesterday I met Will.", "Yesterday I met May."),
        ("Will lives in Oslo.", "May lives in Oslo."),
        ("Mark lives in Oslo. May does too.", "Mark lives in Oslo."),
        ("My flight is in May.", "My flight is in March."),
        ("My flight is in May.", "My flight is soon."),
    ],
)
def test_another_name_number_denial_or_person_is_contrary(new: str, old: str) -> None:
    assert told(new, old) >= CONTRARY


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("My favourite colour is green.", "My favourite colour is blue."),
        ("I live in Oslo with my cousin.", "I live in Oslo."),
        ("Greta lives in Rome.", "Paula lives in Rome."),
        ("I sold my car.", "I drive a car."),
        ("我对鸡蛋过敏", "我对花生过敏"),
    ],
)
def test_another_word_is_news(new: str, old: str) -> None:
    assert 1 <= told(new, old) < CONTRARY
    assert told(new, new) == 0


def test_less_is_no_news() -> None:
    assert told("I live in Oslo.", "I live in Oslo with my cousin Greta since 2019.") == 0


def test_names_are_found_behind_any_white_space_in_linear_time() -> None:
    for between in ("\n" * 200_000, "\n \n\t", "  ", "\r\n\r\n  "):  # hours, if each line feed looked at all the others
        assert wording(f"I was there.{between}Will lives in Oslo.").exact >= {"will", "oslo"}
        assert "will" not in wording(f"I was there.{between}Will you come?").exact
