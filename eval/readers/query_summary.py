"""A summary of passages for a question, without a language model: sentences of theirs.

Query-focused summarization by budgeted maximum coverage (`nscma_torch.reading.extractive_summary`): what a sentence
covers counts by its cosine with the question, so that of passages about several things those asked about are told.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.readers.reader_passages import readable
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.extractive_summary import covering_sentences
from nscma_torch.reading.passage import first_words
from nscma_torch.text.sentences import split_sentences


def query_summary(question: str, texts: Sequence[str], words: int, embedder: Embedder) -> tuple[str, list[int]]:
    """At most `words` words, one sentence a line, in the order of the texts; and the texts that each line is of.

    A sentence without likeness to the question (a cosine of at most 0) is left out. Where none fits, the beginning of
    the sentence that is most like the question stands alone.

    Args:
        texts: at least one, none of them blank.
    """
    sentences = [
        (place, " ".join(text[span.start : span.end].split()))
        for place, text in enumerate(texts)
        for span in split_sentences(text)
    ]
    wordings = list(dict.fromkeys(sentence for _, sentence in sentences))
    likeness = embedder.embed([readable(one, embedder) for one in wordings]) @ embedder.embed_query(question)
    values = dict(zip(wordings, likeness.clamp(min=0).tolist(), strict=True))
    chosen = covering_sentences(sentences, words, values.__getitem__)
    if not chosen:
        place, best = max(sentences, key=lambda pair: values[pair[1]])
        chosen = [(place, first_words(best, words))]
    return "\n".join(sentence for _, sentence in chosen), [place for place, _ in chosen]
