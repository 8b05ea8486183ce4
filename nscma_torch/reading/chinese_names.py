"""Recognise Chinese names that contain 爱 ("love") as a syllable: 爱丽丝 is Alice, and 爱华住在南京 is about 爱华.

While forms are matched, the 爱 in a name is replaced by 艾, which sounds the same and isn't a verb; the results use the
original spelling. A foreign name is recognised by characters used for transcription. A Chinese given name is recognised
by its characters, the words before it and the verb after it.
"""

from __future__ import annotations

import re

from nscma_torch.reading.chinese_kin import KIN
from nscma_torch.text.scripts import HANZI

SOUNDS = "丽莉玛米琳娜莎丝妮雅娅蒂德华迪伦尔文琪拉蒙森特斯坦因佳薇葆洛莲黛奥弗瓦里"
SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊"
    "秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌鲍裴霍骆佟褚冉祁"
)
GIVEN = (
    "雨桐晓峰文静志强丽娜子涵浩宇雪莹苏大伟佳嘉怡悦敏静伟芳娟秀英华慧巧美红春菊兰凤洁梅琳素云莲真环玲桂娣叶璧璐娅琦晶妍茜秋珊莎锦黛青倩婷姣婉娴瑾颖露瑶婵雁蓓纨"
    "仪荷丹蓉眉君琴蕊薇菁梦岚苑婕馨瑗琰韵融园艺咏卿聪澜纯毓昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭凝欢霄枫芸菲寒亚宜可姬舒影荔枝思刚勇毅俊平保东辉力明永健世广"
    "义兴良海山仁波贵福生龙元全国胜祥才发武新利清飞彬富顺信杰涛昌康星光天达安岩茂进林有坚和彪博诚先敬震振壮会群豪心邦承乐绍功松善厚庆磊民友裕河哲江超亮政"
    "谦亨奇固轮翰朗伯宏言若鸣朋斌梁栋维启克伦翔旭鹏泽晨辰士建家致树炎德行时泰盛雄琛钧冠策腾楠榕航弘小晴萌诗凡轩一诺彤彦轶阳昊然瑞琪莉珍妮凯迪珂璇婧宸睿远程军萍霞艳芬"
)
_LOVE, _SOUND = "爱", "艾"
_FOREIGN = rf"爱(?:玛|[{SOUNDS}]{{2,4}})(?=[^{SOUNDS}]|$)"  # a single sound may be a word: 爱米
_BEGIN = rf"(?<![{HANZI}A-Za-z0-9])"  # of a clause
_AFTER_NAME = (
    "[是住在有会姓叫说去从得患当]|喜欢|最喜|讨厌|[也都还就才不没很]?(?:是|住|在|有|喜欢|会)|[和跟与][我你他她]|对[^，,。]{1,12}过敏"
    "|今[年天]|去年|昨天|现在|最近|已经|刚|搬|毕业|退休|结婚|离婚|出生|加入|养[^成]|[学教]"
)
_GIVEN = rf"爱[{SOUNDS}{GIVEN}]{{1,2}}?(?={_AFTER_NAME})"
_NAME = re.compile(rf"{_FOREIGN}|{_BEGIN}{_GIVEN}|{_BEGIN}[{SURNAMES}]爱(?=[{SOUNDS}{GIVEN}])|(?:{KIN}){_GIVEN}")
_READ = re.compile(rf"{_SOUND}(?=([{HANZI}]))")


def sounded(text: str) -> str:
    """Replace 爱 in names with 艾, keeping the text's length."""
    return text if _LOVE not in text else _NAME.sub(lambda match: match[0].replace(_LOVE, _SOUND), text)


def written(name: str, text: str) -> str:
    """Restore the original spelling of a name found in `sounded(text)`."""
    return _READ.sub(lambda match: _LOVE if f"{_LOVE}{match[1]}" in text else _SOUND, name)
