"""What waits open and close, written in the fenced transaction of the journal row that says so."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import assert_never

from sqlalchemy import Connection

from muster.engine.commands import CommandFailed, CommandLetter, CommandOpening
from muster.engine.external_tasks import ExternalTaskOpening
from muster.engine.node_claims import NodeDone, NodeReleased
from muster.engine.openings import (
    ApprovalOpening,
    ChildOpening,
    Closing,
    EventWaitCalled,
    EventWaitDone,
    EventWaitOpening,
    ListOpening,
    Opening,
)
from muster.engine.outbox import OutgoingMessage
from muster.engine.owned import Progress
from muster.engine.sizes import too_large
from muster.model.approval import ApprovalStatus
from muster.model.aside import asides_in
from muster.model.external_task import TaskStatus
from muster.store.approvals import close_approvals, open_approvals, visits_asking
from muster.store.child_ends import Ended, close_children, tell_parents, visits_with_children
from muster.store.children import open_children, open_list
from muster.store.commands import (
    close_commands,
    expire_commands,
    visits_awaiting_replies,
    write_commands,
)
from muster.store.dedupe import settle_claims
from muster.store.event_waits import (
    close_event_waits,
    expire_event_waits,
    visits_awaiting_events,
    write_event_waits,
)
from muster.store.external_tasks import close_tasks, open_tasks, visits_offering
from muster.store.limits import leave
from muster.store.outbox import add_messages

# What is written for all executions at once.
OF_EVENTS = (EventWaitOpening, EventWaitCalled, EventWaitDone)
OF_COMMANDS = (CommandOpening, CommandFailed, CommandLetter)


def write_openings(connection: Connection, items: Sequence[Progress], locked: Collection[str]) -> None:
    """Close what is no longer wanted, then open. The executions' rows are `locked`, those of children that
    are told to stop too, and their owners' fences have been compared."""
    together: list[tuple[str, Opening]] = []
    for item in items:
        if item.closes is not None:
            close(connection, item.execution_id, item.closes, ApprovalStatus.CANCELLED, locked)
        if item.opens:
            together += ((item.execution_id, each) for each in item.opens)
            _open(connection, item)
    write_event_waits(connection, [each for each in together if isinstance(each[1], OF_EVENTS)])
    write_commands(connection, [each for each in together if isinstance(each[1], OF_COMMANDS)])
    add_messages(connection, [each for _, each in together if isinstance(each, OutgoingMessage)])


def close(
    connection: Connection,
    execution_id: str,
    closing: Closing,
    approvals: ApprovalStatus,
    locked: Collection[str],
) -> None:
    if closing.everything:
        opened = visits_with_children(connection, execution_id) | visits_asking(connection, execution_id)
        opened |= visits_awaiting_replies(connection, execution_id)
        opened |= visits_awaiting_events(connection, execution_id) | visits_offering(connection, execution_id)
        closing = replace(closing, visits=tuple(sorted(opened)))
    close_children(connection, execution_id, closing, locked)
    close_approvals(connection, execution_id, closing, approvals)
    close_tasks(connection, execution_id, closing, TaskStatus(approvals.value))
    if closing.at is not None:
        expire_event_waits(connection, execution_id, closing, closing.at)
        expire_commands(connection, execution_id, closing, closing.at)
    else:
        close_event_waits(connection, execution_id, closing)
        close_commands(connection, execution_id, closing)


def _open(connection: Connection, item: Progress) -> None:
    children: list[ChildOpening] = []
    approvals: list[ApprovalOpening] = []
    tasks: list[ExternalTaskOpening] = []
    lists: list[ListOpening] = []
    claims: list[NodeDone | NodeReleased] = []
    for opening in item.opens:
        match opening:
            case ChildOpening():
                children.append(opening)
            case ApprovalOpening():
                approvals.append(opening)
            case ExternalTaskOpening():
                tasks.append(opening)
            case ListOpening():
                lists.append(opening)
            case NodeDone() | NodeReleased():
                claims.append(opening)
            case EventWaitOpening() | EventWaitCalled() | EventWaitDone() | OutgoingMessage():
                continue  # those of all executions at once
            case CommandOpening() | CommandFailed() | CommandLetter():
                continue  # the same
            case _:
                assert_never(opening)
    settle_claims(connection, item.execution_id, claims)
    open_approvals(connection, item.execution_id, approvals)
    open_tasks(connection, item.execution_id, tasks)
    for begun in lists:
        if not begun.complete:
            open_list(connection, item.execution_id, begun)
    open_children(connection, item.execution_id, children)
    for complete in lists:
        if complete.complete:
            open_list(connection, item.execution_id, complete)


def write_ends(connection: Connection, items: Sequence[Progress]) -> None:
    """Tell those whom it concerns that executions have ended: parents, and who is queued behind them."""
    ended = [item for item in items if item.checkpoint is not None and item.checkpoint.is_final]
    tell_parents(connection, [_ended(item) for item in ended if item.parent_id is not None])
    leave(connection, {item.execution_id for item in ended if item.is_limited})


def _ended(item: Progress) -> Ended:
    checkpoint = item.checkpoint
    assert checkpoint is not None, "asked only of those that have ended"
    aside = sum(one.size for one in asides_in(checkpoint.output))
    if (refused := too_large(checkpoint.output, "the child", aside)) is not None:
        return Ended(item.execution_id, checkpoint.status, None, refused)
    return Ended(item.execution_id, checkpoint.status, checkpoint.output, checkpoint.failure)
