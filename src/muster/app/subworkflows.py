"""Which version a sub-workflow starts on: the library's word, as the node that starts it needs it."""

import logging

from muster.definitions.ports import Workflows
from muster.engine.programs import Programs
from muster.engine.state import Failure
from muster.kit.backoff import until_it_works
from muster.model.stored import Workflow
from muster.model.workflow import WorkflowStatus
from muster.nodes.sub_workflow import Startable
from muster.store.database import Unavailable

log = logging.getLogger(__name__)


class StartableWorkflows:
    """`nodes.sub_workflow.Workflows`. It reads until it has read: that the store is away fails no node."""

    def __init__(self, workflows: Workflows, programs: Programs) -> None:
        self._workflows, self._programs = workflows, programs

    async def find(self, institute_id: str, workflow: str, version: int | None) -> Startable | Failure:
        def tell(away: Exception) -> None:
            log.warning("the workflow %r cannot be read yet: %s", workflow[:200], away)

        return await until_it_works(lambda: self._find(institute_id, workflow, version), Unavailable, tell)

    async def _find(self, institute_id: str, workflow: str, version: int | None) -> Startable | Failure:
        found = await self._workflows.get(institute_id, workflow)
        if found is None:
            return Failure("UnknownWorkflow", f"There is no workflow {workflow[:200]!r}")
        version_id = await self._version(found, version)
        if isinstance(version_id, Failure):
            return version_id
        return Startable(found.id, version_id, (await self._programs.of(version_id)).concurrency)

    async def _version(self, found: Workflow, number: int | None) -> int | Failure:
        if number is not None:
            version = await self._workflows.version(found.id, number)
            told = f"The workflow {found.key!r} has no version {number}"
            return Failure("UnknownVersion", told) if version is None else version.id
        if found.active_version_id is None or found.status is not WorkflowStatus.ACTIVE:
            told = f"The workflow {found.key!r} is {found.status}: it cannot be started"
            return Failure("WorkflowNotActive", told)
        return found.active_version_id
