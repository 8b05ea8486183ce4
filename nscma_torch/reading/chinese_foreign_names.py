"""Foreign names in Chinese that begin with the verb 爱, "love": 爱丽丝 is Alice, and not "loves Lisi".

Such a name is written with the characters that are used for sounds. While forms are matched, its 爱 is replaced by 艾,
which has the same sound and is no verb; what is read has the name as it was written.
"""

from __future__ import annotations

import re

SOUNDS = "丽莉玛米琳娜莎丝妮雅娅蒂德华迪伦尔文琪拉蒙森特斯坦因佳薇葆洛莲黛奥弗瓦里"
_LOVE, _SOUND = "爱", "艾"
_NAME = re.compile(rf"爱(?P<rest>玛|[{SOUNDS}]{{2,4}})(?=[^{SOUNDS}]|$)")  # one sound alone may be a word: 爱米

_READ = re.compile(rf"{_SOUND}(玛|[{SOUNDS}]{{2,4}})")


def sounded(text: str) -> str:
    """The text, of the same length, with 艾 at the beginning of foreign names."""
    return text if _LOVE not in text else _NAME.sub(rf"{_SOUND}\g<rest>", text)


def written(name: str, text: str) -> str:
    """A name that was read in `sounded(text)` as the text writes it."""
    return _READ.sub(lambda match: f"{_LOVE}{match[1]}" if f"{_LOVE}{match[1]}" in text else match[0], name)
