"""Data sources: the databases that queries and actions reach. For administrators."""

from muster.api.problems import Code
from muster.api.registry_routes import Making, Registry, registry_router
from muster.api.registry_shapes import SourceBody, SourcePage, SourceRow
from muster.model.registered import SourceDraft


def _draft(body: SourceBody, making: Making) -> SourceDraft:
    return SourceDraft(
        key=making.key,
        institute_id=making.institute_id,
        url=body.url,
        password=body.password,
        password_secret=body.password_secret,
        pool_size=body.pool_size,
        # Files are the machine's, and so for those who administer all of it.
        may_use_files=making.caller.institute_id is None,
    )


router = registry_router(
    Registry(
        path="/api/data-sources",
        kind="data_source",
        one="a data source",
        many="data sources",
        body=SourceBody,
        row=SourceRow,
        page=SourcePage,
        example={
            "key": "shop",
            "url": "postgresql://muster@db.example/shop",
            "passwordSecret": "shop_password",
        },
        kept=lambda registries: registries.sources,
        make=_draft,
        create_notes="A password, in the address or beside it, is kept encrypted and never shown.",
        replace_notes="A password that is left out stays, unless the address is another server's or user's.",
        problems=(Code.NOT_CONFIGURED,),
    )
)
