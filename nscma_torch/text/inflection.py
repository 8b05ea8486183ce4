"""Inflected forms of English verbs: regular verbs by rule, common irregular verbs from a list."""

from __future__ import annotations

from functools import cache, lru_cache

_IRREGULAR = {  # base: past, participle; the -ing form and the third person are regular
    line.split()[0]: tuple(line.split()[1:])
    for line in """
    become became become|begin began begun|bite bit bitten|break broke broken|bring brought brought
    build built built|buy bought bought|catch caught caught|choose chose chosen|come came come|cost cost cost
    cut cut cut|do did done|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
    feel felt felt|find found found|fly flew flown|forget forgot forgotten|get got got,gotten|give gave given
    go went gone|grow grew grown|hang hung hung|have had had|hear heard heard|hide hid hidden|hit hit hit
    hold held held|hurt hurt hurt|keep kept kept|know knew known|lead led led|leave left left|lend lent lent
    lay laid laid|lie lay lain|lose lost lost|make made made|meet met met|pay paid paid|put put put|quit quit quit
    read read read|ride rode ridden|rise rose risen|run ran run|say said said|see saw seen|sell sold sold
    send sent sent|set set set|sing sang sung|sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent
    stand stood stood|swim swam swum|take took taken|teach taught taught|tell told told|think thought thought
    throw threw thrown|understand understood understood|bend bent bent|bleed bled bled|blow blew blown
    breed bred bred|burn burned,burnt burned,burnt|cling clung clung|creep crept crept|deal dealt dealt|dig dug dug
    feed fed fed|fight fought fought|flee fled fled|fling flung flung|freeze froze frozen|grind ground ground
    lean leaned,leant leaned,leant|learn learned,learnt learned,learnt|leap leaped,leapt leaped,leapt|let let let
    mean meant meant|rid rid rid|ring rang rung|seek sought sought|shake shook shaken|shine shone shone
    shoot shot shot|shrink shrank,shrunk shrunk|sink sank sunk|slide slid slid|spell spelled,spelt spelled,spelt
    spin spun spun|spread spread spread|spring sprang sprung|steal stole stolen|stick stuck stuck|sting stung stung
    strike struck struck|sweep swept swept|swing swung swung|tear tore torn|weave wove woven|weep wept wept
    wed wed,wedded wed,wedded|wind wound wound|bet bet bet|bid bid bid|cast cast cast|wake woke woken|wear wore worn
    win won won|write wrote written|shut shut shut|split split split|swear swore sworn
    """.replace("\n", "|").split("|")
    if line.strip()
}
_PREFIXES = ("out", "over", "re", "under", "mis", "un", "with", "up")
_VOWELS = "aeiou"
_DOUBLED = """
drop grab shop stop plan jog swap ship skip chat pop step slip hop get put run sit set quit cut win swim begin
forget hit shut split clap admit commit transfer dig snag strip wrap trim jam pin bet rid let spin wed nip
trot scrap dip tip rip zip map tag log beg fit refer prefer occur stir
"""
_DOUBLING = frozenset(_DOUBLED.split())


def _ing(verb: str) -> tuple[str, ...]:
    if verb in _DOUBLING:
        return (verb + verb[-1] + "ing",)
    if verb.endswith("ie"):
        return (verb[:-2] + "ying",)
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return (verb[:-1] + "ing",)
    if verb in ("travel", "cancel"):
        return (verb + "ing", verb + "ling")
    return (verb + "ing",)


def _past(verb: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    prefix = next(
        (each for each in ("", *_PREFIXES) if verb.startswith(each) and verb[len(each) :] in _IRREGULAR), None
    )
    if prefix is not None:
        past, participle = (words.split(",") for words in _IRREGULAR[verb[len(prefix) :]])
        return tuple(prefix + word for word in past), tuple(prefix + word for word in participle)
    if verb in _DOUBLING:
        regular: tuple[str, ...] = (verb + verb[-1] + "ed",)
    elif verb.endswith("e"):
        regular = (verb + "d",)
    elif verb.endswith("y") and verb[-2] not in _VOWELS:
        regular = (verb[:-1] + "ied",)
    elif verb in ("travel", "cancel"):
        regular = (verb + "ed", verb + "led")
    else:
        regular = (verb + "ed",)
    return regular, regular


def _third(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


@lru_cache(maxsize=4096)
def forms(verb: str) -> dict[str, str]:
    """Return each form of a verb with its kind: base, third, past, participle or ing. A form that is both past and
    participle counts as past."""
    past, participle = _past(verb)
    found = dict.fromkeys(_ing(verb), "ing") | dict.fromkeys(participle, "participle")
    found |= {verb: "base", _third(verb): "third"}
    return found | dict.fromkeys(past, "past")


@cache
def irregular_pasts() -> frozenset[str]:
    """Return the past forms of irregular verbs that differ from all other forms: "went", but not "put"."""
    past = {word for forms in _IRREGULAR.values() for word in forms[0].split(",")}
    return frozenset(past - _IRREGULAR.keys() - {"ground", "wound"})


@cache
def same_in_past() -> frozenset[str]:
    """Return base forms that are also past forms: "put"."""
    return frozenset(verb for verb, forms in _IRREGULAR.items() if verb in forms[0].split(","))
