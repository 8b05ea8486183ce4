"""The read path: lanes that score units, their fusion, and the retrieval strategies built on them."""
