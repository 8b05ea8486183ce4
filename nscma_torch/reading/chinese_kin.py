"""Chinese nouns for relatives and other people, grouped by the relation they express."""

from __future__ import annotations

KIN_NOUNS = {
    "parent": "妈妈|爸爸|母亲|父亲|老爸|老妈|妈|爸",
    "sibling": "姐姐|妹妹|哥哥|弟弟|[亲大二]?[哥姐]|[小亲]?[弟妹]",
    "married_to": "老公|老婆|丈夫|妻子|太太|先生|媳妇|爱人",
    "child": "[大小]?女儿|[大小]?儿子|孩子|闺女",
    "relative": "爷爷|奶奶|外婆|外公|姥姥|姥爷|舅舅|舅妈|叔叔|婶婶|伯伯|姑姑|姑妈|姨妈|阿姨|表[哥姐弟妹]|堂[哥姐弟妹]"
    "|侄子|侄女|外甥女?|嫂子|姐夫|妹夫|岳父|岳母|婆婆|公公|孙子|孙女",
    "colleague": "同事",
    "friend": "(?:好|最好的|多年的?)?朋友|好友|闺蜜|死党|哥们儿?",
    "roommate": "室友|舍友",
    "partner": "女朋友|男朋友|女友|男友|未婚妻|未婚夫|对象",
    "manager": "老板|经理|领导|上司|主管|上级",
}
KIN = "|".join(sorted(KIN_NOUNS.values(), key=len, reverse=True))
