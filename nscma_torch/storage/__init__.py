"""Layer 3, storage: one SQLite file as the only source of truth, and the indexes derived from it.

Modules hold functions over a SQLAlchemy connection; `database` opens the file and owns the transactions.
"""
