"""Text below all layers: readers, sentences, chunks, dates, index terms, the embedder and cue words.

Nothing here knows of a store. Offsets are character offsets into the Python string that was handed in.
"""
