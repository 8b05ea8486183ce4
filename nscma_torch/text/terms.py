"""Index terms of a text for lexical search (BM25).

Normal form: NFKC, case folded, English stems by Snowball (Porter 2, https://snowballstem.org), stop words dropped. Text
without spaces between words has no words to stem: it becomes overlapping bigrams of characters, and Chinese characters
with a meaning of their own are also single terms, because Chinese has many one-character words (Nie et al. 2000, "On
the use of words and n-grams for Chinese information retrieval": both together find more than either alone).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from itertools import pairwise
from typing import Protocol, cast

from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.text.scripts import HAN_CHAR, UNSPACED

MAX_TERM_CHARS = 64  # longer words are cut to this many characters, alike in documents and queries
MAX_TOKEN_CHARS = 256  # a token above this is data (base64, a hex dump), not words: one term stands for it

_STOP_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below between both
    but by can could did do does doing done down during each either else ever few for from further get gets getting got
    had has have having he her here hers herself him himself his how i if in into is it its itself just let me might
    more most much must my myself neither no nor not of off on once only onto or other others ought our ours ourselves
    out over own quite rather really same shall she should so some such than that the their theirs them themselves
    then there these they this those through to too under until up upon us very was we were what when where which
    while who whom whose why will with within without would yet you your yours yourself yourselves

    ain't aren't can't cannot couldn't daren't didn't doesn't don't hadn't hasn't haven't isn't mayn't mightn't mustn't
    needn't oughtn't shan't shouldn't wasn't weren't won't wouldn't
    i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd
    we'll they're they've they'd they'll that's that'd that'll there's there'd there'll here's what's what'd what'll
    where's where'd when's why's why'd how's how'd how'll who's who'd who'll who've let's this's y'all
    im ive dont didnt doesnt cant wont isnt arent wasnt werent hasnt havent hadnt couldnt wouldnt shouldnt thats whats
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
QUESTION_WORDS = frozenset({"tell", "please", "remind"})  # the wh-words are stop words already
KEPT_CAPITALS = frozenset({"US", "IT", "WHO"})  # names that case folding would turn into stop words

# `\w` of `re` leaves out combining marks, which would cut Hindi, Arabic or decomposed Latin words apart.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0981-\u0dff"
)
_WORD = rf"(?:[^\W{UNSPACED}]++|[{_MARKS}]++)++"
_TOKEN = re.compile(
    rf"(?:https?|ftp|file)://[^\s<>\"'()\[\]{{}}{UNSPACED}]++"
    rf"|[{UNSPACED}]++"
    rf"|{_WORD}(?:[-.,:/\\@'’&+#=–]{_WORD})*+(?:\+\+|#)?"
)
_ASCII_TOKEN = re.compile(
    r"(?:https?|ftp|file)://[^\s<>\"'()\[\]{}]++|\w++(?:[-.,:/\\@'&+#=]\w++)*+(?:\+\+|#)?", re.ASCII
)
_PART = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_ALNUM_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_UNSPACED_START = re.compile(rf"[{UNSPACED}]")
_CAMEL = re.compile(r"(?:[a-z]{2,}|[A-Z][a-z0-9]+[A-Z][a-z0-9]+)(?:[A-Z][a-z0-9]+)+")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z0-9]+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CONTRACTION = re.compile(r"(?:n't|'(?:s|d|m|ll|ve|re))$|(?<=s)'$")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_LETTERS_WITHOUT_DECOMPOSITION = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d"})

# Chinese function characters: too frequent to find anything by, except inside a bigram.
_HAN_FUNCTION = frozenset(
    "的了是在有和就不人都一個个上也很到說说要去你我他她它們们会會着著没沒看好自這这那么麼与與及或但而吗嗎呢吧啊之其把被让讓给給为為以於于从從对對能可得地还還再又最更太"
)
_QUESTION_CJK = re.compile(
    r"为什么|為什麼|什么时候|什麼時候|什么|什麼|怎么样|怎麼樣|怎么|怎麼|哪里|哪裡|哪儿|哪些|哪个|哪個|哪|谁|誰|多少|几个|幾個|是不是|有没有|有沒有|请问|請問|告诉我|告訴我|吗|嗎|呢"
    r"|どこ|いつ|だれ|誰|なぜ|どう|なに|何|ですか|ますか|무엇|어디|언제|누구|왜"
)


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


_per_thread = threading.local()


def _stem(word: str) -> str:
    """Return the stem of a word. Each thread has its own Snowball stemmer, as a stemmer has mutable state."""
    stemmer: _Stemmer | None = getattr(_per_thread, "stemmer", None)
    if stemmer is None:
        import snowballstemmer  # here, since most commands stem nothing

        stemmer = cast(_Stemmer, snowballstemmer.stemmer("english"))
        _per_thread.stemmer = stemmer
    return stemmer.stemWord(word)


def terms(text: str) -> list[str]:
    """Return the terms in a document in order; repetitions are kept, as they give the term frequencies."""
    return [term for token in _tokens(text) for term in _terms_of(token)]


def query_terms(text: str) -> list[str]:
    """Return the terms in a question, without question words.

    A question that contains only such words ("please tell") keeps all its terms.
    """
    asked = text if text.isascii() else _QUESTION_CJK.sub(" ", text)
    kept = [term for token in _tokens(asked) if token.casefold() not in QUESTION_WORDS for term in _terms_of(token)]
    return kept or terms(text)


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).translate(_INVISIBLE))


def _terms_of(token: str) -> tuple[str, ...]:
    if token[0] >= "\u0e01" and _UNSPACED_START.match(token):
        return _bigrams(token)
    if len(token) <= MAX_TERM_CHARS:
        return _cached_token_terms(token)
    if len(token) <= MAX_TOKEN_CHARS or "://" in token:
        return _token_terms(token)
    return (token.casefold()[:MAX_TERM_CHARS],)


def _token_terms(token: str) -> tuple[str, ...]:
    if "://" in token:
        return _url_terms(token)
    if token in KEPT_CAPITALS:
        return (token.casefold(),)
    word = token.casefold().replace("’", "'")
    if word in STOP_WORDS:
        return ()
    if _GROUPED_NUMBER.fullmatch(word):
        return (word.replace(",", ""),)
    if "'" in word:
        word = _CONTRACTION.sub("", word)
        if word in STOP_WORDS:
            return ()
    if _ACRONYM.fullmatch(word):
        return (word.replace(".", ""),)
    parts = _PART.findall(word.replace("'", ""))
    if len(parts) == 1:
        if parts[0] != word.replace("'", ""):  # c++, c#, _private
            return (word[:MAX_TERM_CHARS], *_word_terms(parts[0]))
        camel = _CAMEL_PART.findall(token) if _CAMEL.fullmatch(token) else []
        return (*_word_terms(parts[0]), *(term for part in camel for term in _word_terms(part.casefold())))
    if all(part.isdigit() for part in parts) and word.count(".") == 1 and len(parts) == 2:  # a decimal number
        return (word[:MAX_TERM_CHARS],)
    found = [term for part in parts for term in _word_terms(part)]
    return (word[:MAX_TERM_CHARS], *found) if found else ()


_cached_token_terms = erasable_cache(1 << 16)(_token_terms)  # stemming in plain Python costs 30-50 us a word


def _url_terms(url: str) -> tuple[str, ...]:
    address = _ALNUM_EDGE.sub("", url.partition("://")[2].casefold())
    parts = [term for part in _PART.findall(address[:MAX_TOKEN_CHARS]) for term in _word_terms(part)]
    host = address.partition("/")[0]
    return tuple(dict.fromkeys([address[:MAX_TERM_CHARS], host[:MAX_TERM_CHARS], *parts])) if address else ()


def _word_terms(word: str) -> tuple[str, ...]:
    """Return the stem of a case-folded word and, if it has accents, the stem of its spelling without them."""
    if word in STOP_WORDS or not any(map(str.isalnum, word)):
        return ()
    if ordinal := _ORDINAL.fullmatch(word):
        return (ordinal[1],)
    word = word[:MAX_TERM_CHARS]
    if any(map(str.isdigit, word)):
        return (word,)
    stem = _stem(word)
    if word.isascii():
        return (stem,)
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    plain = plain.translate(_LETTERS_WITHOUT_DECOMPOSITION)
    return (stem, _stem(plain)) if plain.isascii() else (stem,)


def _bigrams(run: str) -> tuple[str, ...]:
    if len(run) == 1:
        return (run,)
    alone = [char for char in run if char not in _HAN_FUNCTION and HAN_CHAR.match(char)]
    return (*(first + second for first, second in pairwise(run)), *alone)
