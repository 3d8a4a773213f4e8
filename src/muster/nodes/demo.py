"""The demo's queries, actions and templates: the names that examples use, and what stands behind them.

They run on a small SQLite database of a school: subscriptions, enrollments, users and students.
"""

from collections.abc import Mapping
from datetime import datetime

from muster.model.json import Json, JsonObject
from muster.model.registered import ActionDefinition, PrebuiltQuery
from muster.model.stored import NodeTemplate
from muster.nodes.sql import default_result_key

SOURCE = "demo"

TEMPLATES: Mapping[str, NodeTemplate] = {
    template.id: template
    for template in (
        NodeTemplate("template_query", "Query", "QUERY", {"params": {"instituteId": "#{instituteId}"}}),
        NodeTemplate(
            "template_email",
            "E-mail",
            "SEND_EMAIL",
            {"forEach": {"subject": "A message for you", "body": "Dear #{item.name}"}},
        ),
        NodeTemplate("template_action", "Action", "ACTION", {"onItemError": "collect"}),
    )
}

# Left out, null or empty: of every institute.
_INSTITUTE: JsonObject = {"type": ["string", "null"], "default": None}
_OF_INSTITUTE = "coalesce(:instituteId, '') IN ('', institute_id)"
_DAYS_LEFT = "CAST(julianday(expires_on) - julianday(date(:_now)) AS INTEGER)"

_QUERIES: Mapping[str, tuple[str, str, JsonObject]] = {
    "getExpiringSubscriptions": (
        "Subscriptions that end within some days.",
        f"""SELECT id, name, email, phone, plan, status, expires_on AS "expiresOn",
       {_DAYS_LEFT} AS "remainingDays", institute_id AS "instituteId"
FROM subscriptions
WHERE status = :status AND {_OF_INSTITUTE} AND {_DAYS_LEFT} BETWEEN 0 AND :daysAhead
ORDER BY expires_on, id""",
        {
            "daysAhead": {"type": "integer", "minimum": 0, "default": 7},
            "status": {"type": "string", "default": "ACTIVE"},
        },
    ),
    "getNewEnrollments": (
        "Enrollments that nobody has confirmed yet.",
        f"""SELECT id, name, email, phone, course_name AS "courseName", start_date AS "startDate",
       institute_id AS "instituteId"
FROM enrollments WHERE status = 'NEW' AND {_OF_INSTITUTE} ORDER BY id""",
        {},
    ),
    "getUsersForNotification": (
        "Everybody who wants to be notified.",
        f"""SELECT id, first_name || ' ' || last_name AS name, first_name AS "firstName",
       last_name AS "lastName", email, phone, user_type AS "userType", start_date AS "startDate",
       assignment_name AS "assignmentName", institute_id AS "instituteId"
FROM users WHERE wants_notifications AND {_OF_INSTITUTE} ORDER BY id""",
        {},
    ),
    "getNewStudents": (
        "Students who have not been welcomed yet.",
        f"""SELECT id, name, email, phone, institute_id AS "instituteId"
FROM students WHERE status = 'NEW' AND {_OF_INSTITUTE} ORDER BY id""",
        {},
    ),
}
_RESULT_KEYS = {"getUsersForNotification": "users"}

_ID: JsonObject = {"id": {"type": "integer"}}
_ACTIONS: Mapping[str, tuple[str, str, JsonObject]] = {
    "dbUpdateRemainingDays": (
        "Writes down how many days a subscription has left.",
        f"UPDATE subscriptions SET remaining_days = {_DAYS_LEFT} WHERE id = :id",
        _ID,
    ),
    "updateEnrollmentStatus": (
        "Confirms an enrollment, or gives it another status.",
        "UPDATE enrollments SET status = :newStatus WHERE id = :id",
        {**_ID, "newStatus": {"type": "string", "default": "CONFIRMED"}},
    ),
    "updateStudentStatus": (
        "Makes a student active, or gives them another status.",
        "UPDATE students SET status = :newStatus WHERE id = :id",
        {**_ID, "newStatus": {"type": "string", "default": "ACTIVE"}},
    ),
}

QUERIES: Mapping[str, str] = {key: _RESULT_KEYS.get(key, default_result_key(key)) for key in _QUERIES}
ACTIONS = frozenset(_ACTIONS)


def demo_queries(now: datetime) -> tuple[PrebuiltQuery, ...]:
    """The demo's queries, shared by all institutes."""
    return tuple(
        PrebuiltQuery(
            key=key,
            institute_id="",
            data_source=SOURCE,
            sql=sql,
            result_key=QUERIES[key],
            created_at=now,
            updated_at=now,
            params_schema=_schema({**properties, "instituteId": _INSTITUTE}),
            description=description,
        )
        for key, (description, sql, properties) in _QUERIES.items()
    )


def demo_actions(now: datetime) -> tuple[ActionDefinition, ...]:
    """The demo's actions, shared by all institutes."""
    return tuple(
        ActionDefinition(
            key=key,
            institute_id="",
            data_source=SOURCE,
            sql=(sql,),
            created_at=now,
            updated_at=now,
            params_schema=_schema(properties, "id"),
            description=description,
        )
        for key, (description, sql, properties) in _ACTIONS.items()
    )


def _schema(properties: JsonObject, *required: str) -> JsonObject:
    needed: list[Json] = list(required)
    return {"type": "object", "properties": properties, "required": needed}
