"""Classify the sentiment of English texts with VADER, from the package `vaderSentiment`.

Hutto and Gilbert, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text" (ICWSM 2014).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from nscma_torch.core.extras import require
from nscma_torch.core.records import Sentiment

_NEUTRAL = 0.05  # of the compound score, in [-1, 1]: what lies nearer to 0 is neutral, as its authors advise


@cache
def analyzer() -> Any:
    """Return VADER with its lexicon. Raises `MissingDependencyError` if the package is not installed."""
    vader = require("vaderSentiment.vaderSentiment", extra="records", purpose="the sentiment of structured records")
    return vader.SentimentIntensityAnalyzer()


def sentiment(text: str) -> Sentiment:
    """Classify an English text as positive, negative or neutral. Raises `MissingDependencyError`."""
    compound: float = analyzer().polarity_scores(text)["compound"]
    return "neutral" if abs(compound) < _NEUTRAL else "positive" if compound > 0 else "negative"
