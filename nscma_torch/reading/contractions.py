"""English as the forms expect it: contractions written out, fillers dropped."""

from __future__ import annotations

import re

_PARTICIPLES = (
    "been|got|gotten|gone|moved|left|quit|become|started|joined|had|taken|decided|changed|stopped|switched|retired|made"
    "|lost|sold|bought"
)
_HOLDS = (
    "a|an|the|not|no longer|now|currently|still|in|at|on|from|back (?:in|at|to|from|home)|allergic|vegan|vegetarian"
    "|married|engaged|dating|really|always|also|finally"
    r"|officially|done|due|scheduled|my|our|just|so|very|quite|fluent|based|called|named|broken|finished|ready|dead"
    r"|responsible|pregnant|single|retired|away|gone|offline|online|closed"
    r"|blocked|fixed|live|stuck|cancelled|empty|full|out of|in|\d+"
)
_NOUNS_IN_ING = (
    "wedding|painting|building|meeting|training|housewarming|evening|morning|parking|ceiling|drawing|king|ring|thing"
    "|string|spring|wing|earring|sibling|clothing|briefing|hearing|listing|landing"
)
_EXPANSIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"\bI'?m\b(?!\w)", "I am"),
        (r"\b(we|you|they)'re\b", r"\1 are"),
        (r"\b(I|we|you|they)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(I|we|you|they|he|she|it)'d (been|had|got|gone|lived|worked|taken)\b", r"\1 had \2"),
        (r"\b(I|we|you|they|he|she|it)'d\b", r"\1 would"),
        (r"\bcan(?:'t|not)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(is|are|was|were|do|does|did|have|has|had|would|could|should|must|need)n't\b", r"\1 not"),
        (r"\bain't\b", "is not"),
        (
            rf"\b(he|she|it|that|this|there|here|who|everyone)'s (?=(?:(?:just|now|also|recently|finally|already"
            rf"|since) )?(?:{_PARTICIPLES})\b)",
            r"\1 has ",
        ),
        (r"\b(he|she|it|that|there|here|who|everything|what)'s\b", r"\1 is"),
        (r"\b(\w+)'s (?=(?:got|been) )", r"\1 has "),
        (
            rf"\b(\w+)'s (?=(?:{_PARTICIPLES}|\w{{3,}}ed (?:from|to|out|in|off|dating|my|the|a|his|her|down|up))\b)",
            r"\1 has ",
        ),
        (rf"\b(\w+)'s (?=(?:{_HOLDS}|\w{{3,}}ing)\b)(?!(?:{_NOUNS_IN_ING})\b)", r"\1 is "),
        (r"\b(birthday|deadline|favou?rite \w+)'s (?!party|gift|present|card|cake)", r"\1 is "),
        (r"\b(?:went|gone) and (?=\w+ed\b|got\b|bought\b|sold\b)", ""),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bgotta\b", "have to"),
        (
            r"\b(have|has|had) (?:just )?got(?! (?:rid|married|engaged|divorced|into|to know|used|back|hired"
            r"|promoted|fired|laid|better|worse|over|sick|tired|done|back)\b)",
            r"\1",
        ),
    )
)
_FILLERS = re.compile(
    r"(?:^(?i:by the way|btw|sadly|luckily|thankfully|unfortunately|fortunately|happily|frankly"
    r"|lately|just|finally|currently|recently|officially|apparently|actually|honestly|fully"
    r"|originally|now|also|still|these days|nowadays|right now|at the moment|always)\b(?! of\b),?|\b(?:also"
    r"|just|really|actually|simply"
    r"|totally|completely|absolutely|definitely|literally|basically|honestly|officially|finally|recently"
    r"|currently|presently|strictly|proudly|happily|sadly|lately|eventually|even|already|immediately|quickly"
    r"|quietly|suddenly|slowly|kindly"
    r"|successfully|temporarily|permanently|fully|entirely|utterly|truly|genuinely|deeply|incredibly|extremely"
    r"|super|very|still|originally"
    r"|obviously|clearly|certainly|surely|thankfully|luckily|sort of|kind of|as well|in fact|of course|by now|right "
    r"now|these days"
    r"|nowadays|at the moment|for now|at present|at last|by the way|for a while now|once again|once more|secretly"
    r"|gladly|solely|mainly|mostly"
    r"|primarily|usually|normally|generally|typically|always|exclusively|severely|badly|mildly|slightly|terribly"
    r"|awfully|highly|seriously"
    r"|accidentally|publicly|privately|freshly|newly|gratefully|gradually|by mistake|by accident|after all|wholly"
    r"|both|all|now)\b)\s*(?!,? (?:of|the|my|three|in)\b)",
)


def written_out(sentence: str) -> str:
    """A sentence with its contractions written out and its fillers left out: what they say matters to no form."""
    for pattern, full in _EXPANSIONS:
        sentence = pattern.sub(full, sentence)
    return " ".join(_FILLERS.sub(" ", sentence).replace(" ,", ",").split())
