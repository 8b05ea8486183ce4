"""Text utilities below all layers: readers, sentences, chunks, dates, index terms, the embedder and cue words.

Nothing here depends on a store. Offsets are character offsets into the given Python string.
"""
