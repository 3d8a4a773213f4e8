"""Actions: SQL that writes, registered under the keys that workflows name. For administrators."""

from muster.api.registries import SQL_NOTES, USED_AT_ONCE, refuse
from muster.api.registry_routes import Making, Registry, registry_router
from muster.api.registry_shapes import ActionBody, ActionPage, ActionRow
from muster.model.registered import ActionDefinition
from muster.nodes.sql import check_action


def _action(body: ActionBody, making: Making) -> ActionDefinition:
    action = ActionDefinition(
        key=making.key,
        institute_id=making.institute_id,
        data_source=body.data_source,
        sql=(body.sql,) if isinstance(body.sql, str) else tuple(body.sql),
        created_at=making.now,
        updated_at=making.now,
        params_schema=body.params_schema,
        description=body.description,
        timeout_seconds=body.timeout_seconds,
    )
    refuse(check_action(action))
    return action


router = registry_router(
    Registry(
        path="/api/actions",
        kind="action_definition",
        one="an action",
        many="actions",
        body=ActionBody,
        row=ActionRow,
        page=ActionPage,
        example={
            "key": "closeOrder",
            "dataSource": "shop",
            "sql": "UPDATE orders SET status = 'CLOSED' WHERE id = :id",
            "paramsSchema": {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
        },
        kept=lambda registries: registries.actions,
        make=_action,
        create_notes=SQL_NOTES,
        replace_notes=USED_AT_ONCE,
    )
)
