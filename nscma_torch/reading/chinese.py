"""Rewrite Chinese clauses in plain word order, and recognise phrases that can be subjects, people, places or things.

Chinese is written without spaces, so a form can match anywhere; the phrases in its slots must look like nouns.
"""

from __future__ import annotations

import re

from nscma_torch.reading.chinese_names import GIVEN, SOUNDS, SURNAMES
from nscma_torch.reading.noun_phrases import word_set
from nscma_torch.reading.relations import Kind
from nscma_torch.text.number_words import HAN_NUMERALS
from nscma_torch.text.scripts import HANZI

ADVERBS = (
    "从来|再也|已经|现在|目前|一直|一向|还|也|都|最近|刚刚|刚|特别|超级|超|特|很|非常|挺|最|真的|真|其实|终于|又|正在|正|早就|就|才|如今|以前"
    "|从前|之前|原来|本来|当初|当年|小时候|曾经|曾|后来|早|上个月|去年|不再|不是|不|没有|没|要|必须|一定|想|打算|准备|今年|今天|昨天|上周|每天|天天"
    "|平时|通常|主要|正式|果然|确实|总算|好不容易|偷偷|顺利"
)
PAST = ("以前", "从前", "之前", "曾", "原来", "本来", "当初", "小时候", "当年", "那时候", "那会儿")
_NUMERAL = f"0-9〇零{HAN_NUMERALS}万几"
_TIME = (
    r"(?:(?:大前|前|昨|今|明|后)[天晚早](?:一早|早上|上午|中午|下午|晚上)?|[去今明前后]年(?:[0-9一二三四五六七八九十]+月(?:份|底|初)?|春天|夏天|秋天|冬天|暑假|寒假|年初|年底)?"
    r"|[上下这本]+(?:个)?(?:周|星期|礼拜)[一二三四五六日天末]?|[上下这本]+个?(?:月|学期|季度)(?:底|初|中旬)?|[0-9]{4}年(?:[0-9]+月)?"
    r"|[0-9一二三四五六七八九十两几半]+(?:个)?(?:年|月|天|星期|小时)(?:以?前|之?后)|小时候|当年|当时|那时候|早上|中午|下午|晚上|一早|周末|暑假|寒假|春节|国庆"
    r"|(?:退休|毕业|结婚|离职|放假|下班|工作|婚)(?:以后|之后|后|以来)|每天(?:早上|晚上)?|天天|平时|最近|近来|现在|目前|如今|以前|从前|之前|后来|最后|最终|原来|刚刚|这会儿)"
)
_TALK = (
    "(?:不过|但是|但|而且|而|就|也|还|其实|对了|嗯|哦|说实话|听着|另外|顺便说一?下?|告诉你|跟你说个事|跟你说|说个事|因为|所以|然后|另|终于|已经|特别|从|家里"
    "|医生说(?=[我你他她])|大夫说(?=[我你他她]))"
)
_LEAD = re.compile(rf"^(?:{_TIME}|{_TALK})+")
_PARTICLES = re.compile(r"[是在有把被给让的了着过吗呢吧么很都也还就才再又不没别什谁哪怎每从对]")
_VERBS = re.compile(
    r"[吃喝玩买卖送倒跳跑看听说写读住搬拿找等回去来到做办聊想爱养带跟讲给被把让得了着过吗呢吧么很都也还又不没谁哪怎每从对是有在由]"
)
_NO_PERSON = re.compile(
    r"^(?:老师|大家|小时|小心|大概|大部分|天天|主角|老是|大学|小学|小组|大厂|小区|阿里|大会|老家|明天|安全|国家|家里|时间|平时|大约|小说|发现|国内|可能|一直|"
    r"经常|公司|产品|项目|生活|同时|先生|天气|心情|新家|老婆|老公|小猫|小狗|家人|行李|云南|海南|和平|成都|文明|高铁|方案|金额|马上|白天|安排|石头|万一|任务|"
    r"黄金|方便|高考|周末|周[一二三四五六日]|周.*|金融|关于|向来|文件|文章|武汉|江西|江苏|钱包|马路|牛奶|牛肉|包子|白色|黄色|红色|青色|金色|高中|何时|何必|温度|"
    r"方法|方向|安静|康复|石油|章节|严重|许多|于是|余额|任何|夏天|易碎|关系|关键|包裹)$"
)
_TITLED = "老师|总|经理|医生|教授|师傅|阿姨|叔叔|工|姐|哥|主任|律师|同学|先生|女士|太太"
_ROLES = word_set(
    """老板 领导 经理 主管 爸爸 妈妈 爸 妈 爷爷 奶奶 外公 外婆 姥姥 姥爷 哥哥 姐姐 弟弟 妹妹 老公 老婆 房东
    导师"""
)
_NAME = re.compile(
    rf"[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)*|[小老阿大][{HANZI}]{{1,2}}|([{HANZI}])\1|[{SURNAMES}][{HANZI}]{{1,2}}"
    rf"|[{SURNAMES}][{HANZI}]?(?:{_TITLED})|[{GIVEN}]{{2}}|[艾玛][{SOUNDS}]{{1,4}}|艾[{GIVEN}]{{1,2}}"
)
_PRONOUN = re.compile(r"(?:我|你|您|他|她|它|咱|俺)们?|本人")
_OWNED = re.compile(rf"((?:我|你|您|他|她|咱)们?)(?:家的|的|家)?([{HANZI}A-Za-z0-9]{{1,8}})")
_SELF = re.compile(
    r"^(我|咱)们?(?:一家(?:人|三口|四口)?|自己|本人|家里?|个人|这边|这里)?(?:超级?|特别?|真|可|最|好|挺)?$"
)
_DEMONSTRATIVE = re.compile(
    rf"^(?:[这那][{_NUMERAL}]?(?:[台个辆只张本把件部套条栋座家款份](?=[{HANZI}A-Za-z])|边)?)(?=[{HANZI}A-Za-z]{{1,2}})"
)
_PLACE_END = re.compile(
    r"(?:[里上下旁边中内外前后间室店馆院园场家楼厅房站校司市省县区镇村国州岛路街桥山湖海江河港城湾头厂部组库柜箱包袋桌架床台层号口处馆吧廊屉机]|中心|广场|大学|医院|公寓|宿舍)$"
)
_NO_PLACE = re.compile(
    r"走走|逛|转转|装修|维修|修理|练|比赛|以后|之后|之前|以前|时候|期间|点半|分钟|小时|号前|今天|明天|昨天|一起|本月|月底|上面[^的]|卖|跳舞|上班|下班|上课|工作|学习|复|哪|什么|一下|这[个次]|那[个次]|手机上$|网上|路上$|线上|闲鱼|^[一这那]$"
    r"|^(?:[玩做看忙吃喝买等打开])|[着了过吗吧呢]|.世$|^(?:家长|处理|线|现场|位|场|职|校|编|读|家办公)$"
)
_BAD_OBJECT = re.compile(
    r"^(?:的|是|得|不|没|去|来|到|在|着|过|了|就|都|也|什么|这么|那么|[它他她你我]$)|[吗吧呢]$|就没|什么|怎么"
)
_FRONTED = re.compile(
    rf"^(?P<thing>(?!.*[把被从])[{HANZI}A-Za-z0-9]{{2,10}}?)(?P<who>我们?|咱们?)(?:已经|早就|刚刚?|昨天|今天)?(?P<rest>(?:在.{{1,6}}?)?"
    r"(?:放|搁|交给|借给|送给|还给|给|卖|扔|丢|弄丢|送人|去过|到过).*)$"
)
_AGENTLESS = re.compile(
    rf"^(?P<who>我们?)(?:已经|早就|刚刚?|昨天|今天)?(?:在[{HANZI}]{{1,6}}上)?(?P<rest>(?:卖掉|卖|扔|丢|弄丢|送人|借给|送给|交给).*)$"
)
_PASSIVE = re.compile(
    rf"^(?P<thing>[^被]{{1,10}}?)(?:已经|刚刚?|昨天|今天|又){{0,3}}被(?:[{HANZI}]{{1,6}}的)?"
    rf"(?P<who>[{HANZI}A-Za-z]{{1,4}}?)(?P<rest>(?:拿|借|带|取)走.*)$"
)
_RELATIVE = re.compile(
    rf"^(?P<what>在[^的，]{{2,10}}(?:念书|读书|上学|上班|工作|实习|教书|当[{HANZI}]{{2,4}}))的(?P<name>[{HANZI}]{{2,3}}?)(?P<rest>(?:{_TIME}|{ADVERBS}|退|加|去|有|会|喜|对|在|是|买|搬|和|跟|养|学)[^，]+)$"
)
_ITS = re.compile(r"^其(?![他它实中余次])")
_WHICH = re.compile(
    r"^[这那][家个座所款项](?P<what>[^的，]{3,16})的(?:公司|企业|机构|学校|大学|项目|城市|产品)(?P<rest>[^，]{3,})$"
)
_SPAN = re.compile(
    rf"(?<=[^是有要第在满了于])(?<!于[0-9])(?<!于[0-9]{{2}})(?<!于[0-9]{{3}})(?:快|都|已经)?(?:好几|好多|很多|[{_NUMERAL}]{{1,12}})多?(?:年|个月|天|周)了?$"
)
_TIMES = re.compile(rf"[{_NUMERAL}]{{1,12}}[次回趟遍]了?$")
_AFTER_SUBJECT = re.compile(
    rf"^(?P<who>(?:我|你|他|她)们?(?:[{HANZI}]{{1,3}})?|[{HANZI}]{{2,3}}?)(?P<time>(?!以前|从前|之前|小时候|当年|每天|天天|平时|原来|周末|现在)(?:{_TIME}){{1,3}}(?:底|初)?)(?=(?:从|跟|和|与|在|去|飞|搬|买|退|加|回|入|换|到|辞|离|毕业|把|刚|才|娶|嫁))"
)


def plain_clauses(text: str, topic: str) -> list[str]:
    """Rewrite a clause in the plain order subject, verb, object.

    `topic` is a thing named on its own before the clause.
    """
    text = _ITS.sub("它的", text)
    if which := _WHICH.match(text):
        return [f"它{which['what']}", *plain_clauses(f"它{which['rest']}", "")]
    relative = _RELATIVE.match(text)
    if relative and is_name(relative["name"]):
        return [f"{relative['name']}{relative['what']}", *plain_clauses(f"{relative['name']}{relative['rest']}", "")]
    passive = _PASSIVE.match(text)
    if passive:
        return [f"{passive['who']}把{passive['thing']}{passive['rest']}"]
    text = _TIMES.sub("", _SPAN.sub("", text)) or text
    late = _AFTER_SUBJECT.match(text)
    if late:
        text = late["who"] + text[late.end() :]
    fronted = _FRONTED.match(text)
    if fronted and is_thing(thing := _LEAD.sub("", fronted["thing"]) or fronted["thing"]):
        rest = re.sub(r"了$", "", fronted["rest"])
        if rest in ("去过", "到过"):
            return [f"{fronted['who']}{rest}{thing}"]
        return [f"{fronted['who']}把{thing}{re.sub(r'^在.{1,6}?上(?=卖|扔|丢)', '', fronted['rest'])}"]
    agentless = _AGENTLESS.match(text)
    if topic and agentless:
        return [f"{agentless['who']}把{topic}{agentless['rest']}"]
    return [text]


_HEDGE = re.compile(r"也许|可能|大概|或许|好像|似乎|应该|估计|说不准")


def asserted(parts: list[str]) -> list[str]:
    """Return the clauses of a sentence before the first hypothetical one. "你可能不信" is a clause of its own."""
    found: list[str] = []
    for part in parts:
        if not _HEDGE.search(part):
            found.append(part)
        elif not re.search("你们?(?:可能|应该|大概)", part):
            break
    return found


_ALONE = re.compile(rf"^[那这][{_NUMERAL}]?[台个辆只张本把件部套条栋座家款](?P<thing>[{HANZI}]{{2,8}})$")


def standing_alone(text: str) -> str:
    """Return the thing named by a clause without a predicate, such as "那台旧相机"."""
    alone = _ALONE.match(text)
    return alone["thing"] if alone and not _VERBS.search(alone["thing"]) else ""


def without_lead(phrase: str) -> str:
    """Remove time expressions, adverbs and connectives from the beginning of a phrase."""
    return _LEAD.sub("", phrase).lstrip("，, 的")


def was_past(phrase: str) -> bool:
    """Return True if the words before a verb place it in the past."""
    return any(word in phrase for word in PAST)


def is_name(phrase: str) -> bool:
    """Return True if a phrase looks like a person's name.

    That is a surname with a given name or title, 小X, or a doubled given name.
    """
    return (
        bool(_NAME.fullmatch(phrase))
        and not _NO_PERSON.match(phrase)
        and not _PARTICLES.search(phrase.removeprefix("过"))
    )


def is_thing(phrase: str) -> bool:
    """Return True if a phrase looks like a noun phrase for a thing."""
    plain = _DEMONSTRATIVE.sub("", phrase)
    if not 2 <= len(plain) <= 16 or re.fullmatch(_TIME, plain) or re.match(rf"^[{_NUMERAL}]+$", plain):
        return False
    parts = plain.split("的")
    if len(parts) > 2 or any(not part or len(part) > 10 for part in parts):
        return False
    if parts[0] in ("我", "他", "她", "我们", "他们"):
        parts = parts[1:]
    return not any(_VERBS.search(part) or "我" in part for part in parts)


def subject_of(phrase: str, kind: Kind) -> str | None:
    """Return a subject's words, "" if the subject is omitted, or None if the phrase isn't a noun phrase of this
    kind.
    """
    plain = without_lead(phrase).removesuffix("的")
    if _SELF.match(plain):
        return "我"
    if not plain or _PRONOUN.fullmatch(plain):
        return plain
    about_person = kind.like == "person"
    if is_name(plain) or plain in _ROLES:
        return plain
    owned = _OWNED.fullmatch(plain)
    if owned:
        return plain if not _PARTICLES.search(owned[2]) and not _VERBS.search(owned[2]) else None
    if about_person:
        return None
    bare = _DEMONSTRATIVE.sub("", plain)
    return bare if is_thing(bare) else None


def object_fits(phrase: str, kind: Kind) -> bool:
    """Return True if a phrase can be an object of this kind."""
    if kind.words:
        return any(phrase.startswith(word) or phrase.endswith(word) for word in kind.words)
    match kind.like:
        case "place":
            return is_place(phrase)
        case "person" | "name":
            return (
                len(phrase) <= 12
                and not _PARTICLES.search(phrase)
                and not re.match(rf"[{_NUMERAL}](?:[{HANZI}]{{2}})", phrase)
            )
        case "group":
            return len(phrase) <= 14 and not re.search(r"[了着过]|^[的去来在是]", phrase)
        case "thing" | "trait" | "title":
            return len(phrase) <= 14 and not _BAD_OBJECT.search(phrase)
        case "deed":
            return len(phrase) > 1 and not re.match(r"[不没]|的|了", phrase)
        case _:
            return not re.match(r"的|是|了", phrase)


def is_place(phrase: str) -> bool:
    """Return True if a phrase looks like a place: a short name, or a noun with a place ending."""
    if not 1 <= len(phrase) <= 14 or (len(phrase) == 1 and phrase != "家") or _NO_PLACE.search(phrase):
        return False
    if _PLACE_END.search(phrase):
        return True
    return len(phrase) <= 5 and not _VERBS.search(phrase.removesuffix("都"))
