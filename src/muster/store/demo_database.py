"""The demo's database: a small school whose dates lie around the day on which it is made."""

import sqlite3
import tempfile
from contextlib import closing, suppress
from datetime import date, timedelta
from pathlib import Path

FILE_NAME = "demo.db"
NORTH, SOUTH = "inst_456", "inst_123"

TABLES = """
CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY, institute_id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL,
    phone TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL, expires_on TEXT NOT NULL,
    remaining_days INTEGER
);
CREATE TABLE enrollments (
    id INTEGER PRIMARY KEY, institute_id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL,
    phone TEXT NOT NULL, course_name TEXT NOT NULL, start_date TEXT NOT NULL, status TEXT NOT NULL
);
CREATE TABLE users (
    id INTEGER PRIMARY KEY, institute_id TEXT NOT NULL, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    email TEXT NOT NULL, phone TEXT NOT NULL, user_type TEXT NOT NULL, start_date TEXT,
    assignment_name TEXT, wants_notifications INTEGER NOT NULL
);
CREATE TABLE students (
    id INTEGER PRIMARY KEY, institute_id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL,
    phone TEXT NOT NULL, status TEXT NOT NULL
);
"""

PEOPLE = ("Ada Byron", "Grace Murray", "Alan Mathison", "Emmy Noether", "Kurt Friedrich", "Sofia Wassiljewna")
COURSES = ("Algebra", "Analysis", "Astronomy")
PLANS = ("monthly", "yearly")
# Days until each subscription ends: some are due, one is over, one is far away.
DAYS_LEFT = (1, 3, 7, 7, -2, 30)


def make_demo_database(folder: Path, today: date) -> Path:
    """The demo database in this folder, made if it is not there; if it is, it stays as it is."""
    path = folder.resolve() / FILE_NAME
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=FILE_NAME) as aside:
        finished = Path(aside) / FILE_NAME
        with closing(sqlite3.connect(finished)) as connection, connection:
            connection.executescript(TABLES)
            _fill(connection, today)
        # It appears whole or not at all, and of two who make it at once the first has made it.
        with suppress(FileExistsError):
            path.hardlink_to(finished)
    return path


def _fill(connection: sqlite3.Connection, today: date) -> None:
    for number, name in enumerate(PEOPLE, start=1):
        institute = NORTH if number % 2 else SOUTH
        first, last = name.split()
        email, phone = f"{first.lower()}@example.com", f"+1555010{number:04d}"
        ends = (today + timedelta(days=DAYS_LEFT[number - 1])).isoformat()
        starts = (today + timedelta(days=7 * number)).isoformat()
        whom = (number, institute, name, email, phone)
        _insert(connection, "subscriptions", *whom, PLANS[number % 2], "ACTIVE", ends, None)
        status = "NEW" if number < len(PEOPLE) else "CONFIRMED"
        _insert(connection, "enrollments", *whom, COURSES[number % 3], starts, status)
        _insert(connection, "students", *whom, "NEW" if number < len(PEOPLE) else "ACTIVE")
        teaches = f"Marking {COURSES[number % 3]}"
        kind = ("STUDENT", starts, None) if number % 3 else ("INSTRUCTOR", None, teaches)
        _insert(connection, "users", number, institute, first, last, email, phone, *kind, number != 4)


def _insert(connection: sqlite3.Connection, table: str, *values: object) -> None:
    places = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} VALUES ({places})", values)
