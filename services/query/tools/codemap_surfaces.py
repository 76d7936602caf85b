"""Surfaces: HTTP endpoints, configuration keys, database tables."""

from __future__ import annotations

from contracts.tools.codemap import (
    ConfigKey,
    ConfigKeys,
    ConfigKeysAnswer,
    ConfigKeysRequest,
    Endpoint,
    Endpoints,
    EndpointsAnswer,
    EndpointsRequest,
    Table,
    Tables,
    TablesAnswer,
    TablesRequest,
)
from services.query.codemap.desk import counted, queried
from services.query.codemap.surfaces import place_id, surfaced
from services.query.host import View
from services.query.registry import tool


@tool("surfaces_list_endpoints", title="HTTP endpoints", family="codemap")
async def surfaces_list_endpoints(view: View, request: EndpointsRequest) -> EndpointsAnswer:
    """The HTTP routes a program serves, with method, full path and handler, of the common frameworks
    of nine languages."""
    case = await queried(view, request.repo_path, request.workspace_id)
    limit = case.limit("max_results", request.limit)
    prefix = (request.path_filter or "").lower()
    method = (request.http_method or "").strip().upper()
    found = [
        route
        for route in (await surfaced(case.map)).endpoints
        if route.route_path.lower().startswith(prefix)
        and (not method or route.http_method in (method, "ANY"))
    ]
    endpoints = tuple(
        Endpoint(
            http_method=route.http_method,
            route_path=route.route_path,
            handler_symbol=place_id(case.map, route.handler),
            file_path=route.path,
            line=route.line,
            confidence=route.confidence,  # type: ignore[arg-type]  # one of three
        )
        for route in found[:limit]
    )
    case.files.update(endpoint.file_path for endpoint in endpoints)
    data = Endpoints(
        endpoints=endpoints, total_count=len(found), truncated=len(found) > len(endpoints)
    )
    return case.answer(
        EndpointsAnswer, counted(len(found), "endpoints"), data, tool="surfaces_list_endpoints"
    )


@tool("surfaces_list_config_keys", title="Configuration keys", family="codemap")
async def surfaces_list_config_keys(view: View, request: ConfigKeysRequest) -> ConfigKeysAnswer:
    """The configuration keys and environment variables that code reads, and where."""
    case = await queried(view, request.repo_path, request.workspace_id)
    limit = case.limit("max_results", request.limit)
    prefix = (request.key_filter or "").lower()
    found = [k for k in (await surfaced(case.map)).config_keys if k.key.lower().startswith(prefix)]
    keys = tuple(
        ConfigKey(
            key=key.key,
            used_by_symbol=place_id(case.map, key.used_by),
            file_path=key.used_by.path,
            line=key.line,
            usage_pattern=key.usage_pattern,
            confidence=key.confidence,  # type: ignore[arg-type]  # one of three
        )
        for key in found[:limit]
    )
    case.files.update(key.file_path for key in keys)
    data = ConfigKeys(keys=keys, total_count=len(found), truncated=len(found) > len(keys))
    return case.answer(
        ConfigKeysAnswer, counted(len(found), "key uses"), data, tool="surfaces_list_config_keys"
    )


@tool("surfaces_list_db_tables", title="Database tables", family="codemap")
async def surfaces_list_db_tables(view: View, request: TablesRequest) -> TablesAnswer:
    """The database tables that models declare and SQL names, and which symbols touch each."""
    case = await queried(view, request.repo_path, request.workspace_id)
    limit = case.limit("max_results", request.limit)
    prefix = (request.table_filter or "").lower()
    found = [
        table
        for table in (await surfaced(case.map)).tables
        if table.table.lower().startswith(prefix)
        or (table.schema and f"{table.schema}.{table.table}".lower().startswith(prefix))
    ]
    tables = tuple(
        Table(
            table_name=table.table,
            schema=table.schema or None,
            entity_symbol=None if table.entity is None else place_id(case.map, table.entity),
            referenced_by=tuple(
                dict.fromkeys(place_id(case.map, place) for place in table.referenced_by)
            ),
            confidence=table.confidence,  # type: ignore[arg-type]  # one of three
        )
        for table in found[:limit]
    )
    case.files.update(table.path for table in found[:limit])
    data = Tables(tables=tables, total_count=len(found), truncated=len(found) > len(tables))
    text = counted(len(found), "tables")
    return case.answer(TablesAnswer, text, data, tool="surfaces_list_db_tables")
