"""Messages of somebody who tells facts, changes them, repeats himself and says ok.

The facts are told in Chinese, which is read by forms: without the trained networks a test costs a hundredth.
"""

from __future__ import annotations

import random


def chatter(rng: random.Random) -> str:
    """A message of somebody who moves, changes his mind, repeats himself and says ok."""
    who, place = rng.choice(("我", "我妹妹", "我老板")), rng.choice(("南京", "上海", "成都", "重庆"))
    thing, colour = rng.choice(("咖啡", "爵士乐", "象棋", "歌剧")), rng.choice(("红色", "蓝色", "绿色"))
    return rng.choice(
        (
            f"{who}搬到了{place}。",
            f"{who}住在{place}。",
            f"我喜欢{thing}。",
            f"我不再喜欢{thing}了。",
            f"我最喜欢的颜色是{colour}。",
            f"Parcel {rng.randrange(10**6)} went to flat {rng.randrange(50)} in Porto.",
            "ok",
            "thanks!",
            f"Remember that the meeting in Bern is on the {rng.randrange(1, 28)}th.",
        )
    )
