"""What keeps a document from being saved here, beside what is wrong with it in itself."""

from collections.abc import Sequence

from muster.definitions.frame import Part, find_frame
from muster.definitions.problems import Problems
from muster.definitions.scalars import as_id
from muster.model.access import Caller
from muster.model.json import Json
from muster.model.problems import Level, Problem
from muster.model.stored import Workflow
from muster.model.workflow import WorkflowStatus


class Head:
    """What a document says of the workflow itself, whether or not the rest of it is sound."""

    def __init__(self, document: Json) -> None:
        self._frame = find_frame(document, Problems())

    def _part(self, *names: str) -> Part:
        """The first of these that is given."""
        frame = self._frame or {}
        return next((frame[name] for name in names if name in frame), Part(None, ""))

    def nameless(self, errors: Sequence[Problem]) -> list[Problem]:
        """A workflow needs a name to be saved; one that is wrong in itself was said to be."""
        name = self._part("name").value
        is_wrong = any(problem.pointer in ("/name", "/workflow/name") for problem in errors)
        if self._frame is None or is_wrong or (isinstance(name, str) and name.strip()):
            return []
        return [Problem("MISSING_NAME", "", "A workflow needs a `name` to be saved.")]

    def foreign(self, actor: Caller) -> list[Problem]:
        """A tenant's caller may not save for another."""
        tenant = self._part("instituteId")
        if actor.institute_id is None or tenant.value in (None, "", actor.institute_id):
            return []
        message = f"You act for `{actor.institute_id}`, and cannot save for `{tenant.value}`."
        return [Problem("FOREIGN_TENANT", tenant.pointer, message)]

    def moved(self, workflow: Workflow | None) -> list[Problem]:
        """A workflow keeps its key and its tenant through all its versions."""
        if workflow is None:
            return []
        found = []
        key, tenant = self._part("key", "id"), self._part("instituteId")
        if as_id(key.value) not in (None, workflow.key, workflow.id):
            message = f"The workflow's key is `{workflow.key}`, and stays."
            found.append(Problem("KEY_CHANGED", key.pointer, message))
        if tenant.value not in (None, "", workflow.institute_id):
            message = f"The workflow belongs to `{workflow.institute_id}`, and stays there."
            found.append(Problem("FOREIGN_TENANT", tenant.pointer, message))
        return found

    def ignored_status(self, workflow: Workflow) -> tuple[Problem, ...]:
        """A further version does not switch its workflow off."""
        status = self._part("status")
        if status.value not in (WorkflowStatus.INACTIVE, WorkflowStatus.ARCHIVED):
            return ()
        if status.value == workflow.status:
            return ()
        message = f"The workflow stays `{workflow.status}`: a `status` is taken only when it is created."
        return (Problem("IGNORED_FIELD", status.pointer, message, Level.WARNING),)
