"""Finding what was said: lanes that score units, their fusion, and the searcher that runs them."""
