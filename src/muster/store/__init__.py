"""The store: SQLAlchemy Core over SQLite, PostgreSQL and MariaDB."""
