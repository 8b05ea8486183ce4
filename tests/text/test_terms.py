import threading
import time

import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.text.scripts import script
from nscma_torch.text.terms import MAX_TERM_CHARS, STOP_WORDS, query_terms, terms


def test_english_is_folded_stemmed_and_freed_of_stop_words():
    assert terms("I was RUNNING to the Libraries with them") == ["run", "librari"]


def test_contractions_are_stop_words_with_either_apostrophe():
    assert terms("I don't, they’ve, it's, won't, can't") == []


@pytest.mark.parametrize("text", ["mom's", "mom’s", "Mom", "moms'"])
def test_possessives_meet_the_plain_word(text):
    assert terms(text) == ["mom"]


def test_negation_and_month_may():
    assert terms("in May") == ["may"]
    assert "may" not in STOP_WORDS


def test_numbers_are_kept_and_meet_each_other():
    assert terms("1,000 and 1000") == ["1000", "1000"]
    assert terms("3.5 km") == ["3.5", "km"]
    assert terms("the 12th") == ["12"]


def test_accents_match_both_ways():
    assert terms("Café") == ["café", "cafe"]
    assert set(terms("cafe\u0301")) == {"café", "cafe"}
    assert set(terms("cafe")) <= set(terms("café"))
    assert set(terms("resumes")) <= set(terms("résumés"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("write to jane.doe@example.com today", "jane.doe@example.com"),
        ("write to jane.doe@example.com today", "Jane Doe"),
        ("see https://www.example.com/docs/setup?id=7.", "www.example.com"),
        ("see https://www.example.com/docs/setup?id=7.", "setup docs"),
        ("call getUserName() now", "user name"),
        ("call getUserName() now", "getusername"),
        ("set user_id first", "user id"),
        ("a well-known fact", "well known"),
        ("from the U.S.A.", "USA"),
        ("Mr O'Brien", "obrien"),
        ("I use C++ and C#", "c++"),
        ("in the US it is", "US"),
    ],
)
def test_a_query_finds_identifiers_and_their_parts(text, query):
    assert query_terms(query)
    assert set(query_terms(query)) <= set(terms(text))


def test_cpp_and_csharp_differ():
    assert "c++" not in terms("c#")


def test_chinese_bigrams_and_words_of_one_character():
    found = terms("我最喜欢蓝色")
    assert {"喜欢", "蓝色", "欢蓝", "蓝"} <= set(found)
    assert "我" not in found
    assert set(terms("狗")) & set(terms("我养了一只狗"))
    assert terms("我") == ["我"]


def test_kana_hangul_and_thai_are_bigrams_only():
    assert terms("カタカナ") == ["カタ", "タカ", "カナ"]
    assert terms("ｶﾀｶﾅ") == ["カタ", "タカ", "カナ"]
    assert terms("한국어") == ["한국", "국어"]
    assert "ไท" in terms("ภาษาไทย")


def test_scripts_side_by_side_are_separated():
    assert terms("用Kubernetes部署") == ["用", "kubernet", "部署", "部", "署"]


def test_hindi_words_are_not_cut_at_vowel_signs():
    assert terms("हिन्दी में") == ["हिन्दी", "में"]


def test_long_data_is_one_bounded_term():
    assert terms("x " + "A" * 10_000 + " y") == ["x", "a" * MAX_TERM_CHARS, "y"]


def test_query_drops_question_words():
    assert query_terms("What is my dog's name?") == ["dog", "name"]
    assert query_terms("Please tell me where Anna lives") == ["anna", "live"]
    assert set(query_terms("你最喜欢什么颜色？")).isdisjoint(terms("什么"))
    assert "颜色" in query_terms("你最喜欢什么颜色？")


def test_query_of_question_words_alone_is_not_empty():
    assert query_terms("please tell") == terms("please tell") != []


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=300))
def test_terms_never_fail_and_are_bounded_and_folded(text):
    for term in terms(text):
        assert 0 < len(term) <= MAX_TERM_CHARS
        assert not any(map(str.isspace, term))


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_case_of_prose_does_not_matter(text):
    lowered = text.lower()
    capitalized = " ".join(word.capitalize() if word.isalpha() else word.lower() for word in lowered.split(" "))
    assert terms(capitalized) == terms(lowered)


def test_threads_share_no_stemmer_state():
    words = [f"{stem}{end}" for stem in ("walk", "jump", "relat", "nation") for end in ("ing", "ed", "ional", "s")]
    plain = snowballstemmer.stemmer("english")
    failures = []

    def work(seed: int) -> None:
        for i in range(300):
            word = f"{chr(97 + seed)}{chr(97 + i % 26)}{chr(97 + i // 26)}{words[i % len(words)]}"
            if word not in STOP_WORDS and terms(word) != expected[word]:
                failures.append(word)

    expected = {
        word: [plain.stemWord(word)]
        for seed in range(4)
        for i in range(300)
        for word in [f"{chr(97 + seed)}{chr(97 + i % 26)}{chr(97 + i // 26)}{words[i % len(words)]}"]
    }
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("piece", ["a.", "http://", "é-", "'", "# ", "中", "A", "1,000"])
def test_time_is_linear_in_hostile_text(piece):
    def seconds(repeats):
        text, times = piece * repeats, []
        for _ in range(3):
            began = time.process_time()
            terms(text)
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(40_000) < 50 * max(seconds(4_000), 2e-3)  # quadratic time would be a factor of 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", "latin"),
        ("café Ångström", "latin"),
        ("我用Kubernetes部署", "cjk"),
        ("ひらがな", "cjk"),
        ("안녕하세요", "cjk"),
        ("Привет, world", "cyrillic"),
        ("مرحبا", "arabic"),
        ("हिन्दी", "other"),
        ("αβγ", "other"),
        ("", "other"),
        ("123 … 🎉", "other"),
        ("My favourite word is 蓝", "latin"),
    ],
)
def test_script(text, expected):
    assert script(text) == expected
