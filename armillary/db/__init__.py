"""Database engine: connections, sessions, retries and migrations; no tables."""

from armillary.db.database import Database, DatabaseOptions

__all__ = ["Database", "DatabaseOptions"]
