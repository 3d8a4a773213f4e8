"""The names that the demo database answers to, so that the examples validate as they stand."""

from collections.abc import Mapping

from muster.model.stored import NodeTemplate

QUERIES: Mapping[str, str] = {
    "getExpiringSubscriptions": "expiringSubscriptions",
    "getNewEnrollments": "newEnrollments",
    "getUsersForNotification": "users",
    "getNewStudents": "newStudents",
}
ACTIONS = frozenset({"dbUpdateRemainingDays", "updateEnrollmentStatus", "updateStudentStatus"})
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
