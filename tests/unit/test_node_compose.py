"""docker-compose.yml and its image agree with the workers and settings that there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from contracts.nats_users import USERS
from ops.commands import provision, work
from ops.node import workers
from services.kernel.settings import Settings, from_environment

_ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text())[
    "services"
]
WORKING = {name: service for name, service in SERVICES.items() if service["command"][0] == "work"}


def parsed(module: Any, arguments: list[str]) -> Any:
    import argparse

    parser = argparse.ArgumentParser(exit_on_error=False)
    module.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("name", SERVICES)
def test_every_command_is_one_that_the_image_understands(name: str) -> None:
    service = SERVICES[name]
    verb, *arguments = service["command"]
    if "entrypoint" in service:
        assert service["entrypoint"] == ["nats-server"]
        return

    assert verb in ("work", "provision")
    args = parsed(work if verb == "work" else provision, arguments)

    if verb == "work":
        workers.check(args.names)


def test_every_worker_has_a_service_of_its_own() -> None:
    assert {tuple(service["command"][1:]) for service in WORKING.values()} == {
        (name,) for name in workers.WORKERS
    }
    assert {spec.name for spec in USERS} == {*workers.WORKERS, "ops"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_a_setting_and_readable(name: str) -> None:
    environment = {key: str(value) for key, value in SERVICES[name].get("environment", {}).items()}

    settings = from_environment(environment)

    if name in WORKING:
        assert settings.nats_url == "nats://nats:4222"
        assert settings.nats_users_file == "/credentials/users.json"
        assert "/credentials" in _mounts(name)


def test_the_image_sets_only_variables_that_are_settings() -> None:
    fields = {f"REPOFOLD_{field.name.upper()}" for field in msgspec.structs.fields(Settings)}
    words = (_ROOT / "ops/docker/Dockerfile").read_text().replace("\\\n", " ").split()

    assert {word.partition("=")[0] for word in words if word.startswith("REPOFOLD_")} <= fields


def test_a_replica_is_a_projector_and_a_query_service_on_a_volume_of_their_own() -> None:
    replicas: dict[str, set[str]] = {}
    for name, service in SERVICES.items():
        if service["command"][0] == "work" and service["command"][1] in ("projector", "query"):
            node = service["environment"].get("REPOFOLD_NODE", "local")
            replicas.setdefault(_mounts(name)["/state"] + " " + node, set()).add(
                service["command"][1]
            )

    assert len(replicas) == 2
    assert all(pair == {"projector", "query"} for pair in replicas.values())


def test_only_who_needs_the_tree_sees_it_and_nobody_may_write_to_it() -> None:
    seeing = {name for name in WORKING if "/trees/repo" in _mounts(name)}

    assert seeing == {"walker", "reconciler", "resolver", "query", "query2"}
    assert all(
        entry.endswith(":ro")
        for service in SERVICES.values()
        for entry in service["volumes"]
        if "/trees" in entry
    )


def test_what_scales_publishes_no_port_and_shares_no_volume() -> None:
    for name in ("extractor", "embedder"):
        assert "ports" not in SERVICES[name]
        assert set(_mounts(name)) == {"/credentials"}


def test_a_container_has_time_to_drain() -> None:
    for service in WORKING.values():
        assert float(service["stop_grace_period"].removesuffix("s")) > Settings().drain_seconds


def test_endpoints_are_published_on_loopback_and_check_the_host() -> None:
    for name in ("query", "query2"):
        (port,) = SERVICES[name]["ports"]
        assert port.startswith("127.0.0.1:")
        assert json.loads(SERVICES[name]["environment"]["REPOFOLD_ALLOWED_HOSTS"])


def _mounts(name: str) -> dict[str, str]:
    """Mount point -> volume or folder."""
    mounts = {}
    for entry in WORKING.get(name, SERVICES[name])["volumes"]:
        source, _, target = entry.removesuffix(":ro").rpartition(":")
        mounts[target] = source
    return mounts
