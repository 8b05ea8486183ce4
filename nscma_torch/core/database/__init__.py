"""The store: one SQLite file or a PostgreSQL database, its tables, transactions and migrations."""
