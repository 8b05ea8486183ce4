"""The read path: lanes that score units, the fusion of their scores, and the retrieval strategies built on them."""
