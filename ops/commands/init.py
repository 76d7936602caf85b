"""`repofold init`: which clients can be told of this server, and what is written where?

One entry named `repofold` joins the client's own configuration file; nothing else in it changes. A
file that changes is copied to `.bak` first. Tokens are never written: HTTP entries name the
variable REPOFOLD_TOKEN, or have the client ask for it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from contracts.errors import Fault, Forbidden, InvalidArgument
from ops.commands import agents_file
from ops.commands.client_files import Entry, merged_json, merged_toml, with_json_items
from ops.commands.managed_files import FileChange, read_text, write_text

__all__ = ["CLIENTS", "FileChange", "init"]

Transport = Literal["stdio", "http"]
Scope = Literal["project", "user"]

NAME = "repofold"
COMMAND = "repofold"
URL = "http://127.0.0.1:8765/mcp"
TOKEN = "REPOFOLD_TOKEN"  # noqa: S105  # a variable's name
STARTUP_S = 60  # the first start indexes and may start the node


@dataclass(frozen=True, kw_only=True)
class _Client:
    title: str
    project: str  # path below the project
    user: Callable[[Path], Path]  # path below the home directory
    section: str
    stdio: Entry
    http: Callable[[str], Entry]
    inputs: Sequence[Entry] = field(default=())
    note: str = ""

    @property
    def is_toml(self) -> bool:
        return self.project.endswith(".toml")


def _bearer(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}


def _code_user(home: Path) -> Path:
    below = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
    return home / below.get(sys.platform, ".config") / "Code/User/mcp.json"


_HERE: list[str] = ["mcp"]  # started in the project's directory
_FOLDER = ["mcp", "${workspaceFolder}"]  # started anywhere

CLIENTS: dict[str, _Client] = {
    "claude-code": _Client(
        title="Claude Code",
        project=".mcp.json",
        user=lambda home: home / ".claude.json",
        section="mcpServers",
        stdio={"type": "stdio", "command": COMMAND, "args": _HERE},
        http=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{{TOKEN}}}")},
    ),
    "codex": _Client(
        title="Codex",
        project=".codex/config.toml",
        user=lambda home: home / ".codex/config.toml",
        section="mcp_servers",
        stdio={"command": COMMAND, "args": _HERE, "startup_timeout_sec": STARTUP_S},
        http=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        note="Codex reads a project's file once the project is trusted",
    ),
    "cursor": _Client(
        title="Cursor",
        project=".cursor/mcp.json",
        user=lambda home: home / ".cursor/mcp.json",
        section="mcpServers",
        stdio={"command": COMMAND, "args": _FOLDER},
        http=lambda url: {"url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
    ),
    "vscode": _Client(
        title="VS Code",
        project=".vscode/mcp.json",
        user=_code_user,
        section="servers",
        stdio={"type": "stdio", "command": COMMAND, "args": _FOLDER},
        # Environment variables are not filled into headers there; an input is asked for once.
        http=lambda url: {
            "type": "http",
            "url": url,
            "headers": _bearer("${input:repofold-token}"),
        },
        inputs=(
            {
                "type": "promptString",
                "id": "repofold-token",
                "description": f"Repofold token (the value of {TOKEN})",
                "password": True,
            },
        ),
    ),
    "gemini": _Client(
        title="Gemini CLI",
        project=".gemini/settings.json",
        user=lambda home: home / ".gemini/settings.json",
        section="mcpServers",
        stdio={"command": COMMAND, "args": _HERE},
        http=lambda url: {"httpUrl": url, "headers": _bearer(f"${TOKEN}")},
    ),
}


def own_command() -> str:
    """What a client has to run: our name where any program finds it, else this installation's path."""
    own = Path(sysconfig.get_path("scripts")) / COMMAND
    found = shutil.which(COMMAND)
    # An activated environment's folder is on the search path of this terminal alone.
    if found and Path(found).parent != own.parent and Path(found).resolve() == own.resolve():
        return COMMAND
    if found and sys.prefix == sys.base_prefix:
        return COMMAND
    return str(own) if own.exists() else COMMAND


def init(  # noqa: PLR0913  # one keyword per option
    client: str,
    *,
    target_dir: Path,
    home: Path,
    transport: Transport = "stdio",
    scope: Scope = "project",
    url: str = URL,
    command: str = COMMAND,
    print_only: bool = False,
    force: bool = False,
) -> list[FileChange]:
    """Enter this server into the configuration of `client`, or of every client for "all".

    `command` is the program that stdio entries start. Running it again changes nothing. An entry named repofold with other settings is left alone
    unless `force` is set. Raises InvalidArgument for an unknown client; what is wrong with a single
    file is told in its FileChange.
    """
    if client not in (*CLIENTS, "all"):
        raise InvalidArgument(
            f"unknown client {client!r}", hint=f"one of {', '.join(CLIENTS)}, all"
        )
    if not target_dir.is_dir():
        raise InvalidArgument(
            f"{target_dir} is not a directory", hint="give the folder of a repository"
        )
    changes = []
    for name in CLIENTS if client == "all" else (client,):
        known = CLIENTS[name]
        path = known.user(home) if scope == "user" else target_dir / known.project
        if client == "all" and scope == "user" and not _is_used(path, home):
            changes.append(
                FileChange(client=name, path=path, action="skipped", note="not used by this user")
            )
            continue
        try:
            target = _resolved(path, None if scope == "user" else target_dir)
            text = read_text(target)
            entry = known.http(url) if transport == "http" else {**known.stdio, "command": command}
            new = _merged(known, text or "", transport, entry, force=force)
            changes.append(
                write_text(name, target, text, new, print_only=print_only, note=known.note)
            )
        except Fault as fault:
            note = f"{fault.message}; {fault.hint}"
            changes.append(FileChange(client=name, path=path, action="refused", note=note))
    return changes


def _is_used(path: Path, home: Path) -> bool:
    return path.exists() or (path.parent != home and path.parent.is_dir())


def _resolved(path: Path, inside: Path | None) -> Path:
    target = path.resolve()  # so that a link, from a dotfiles directory say, stays one
    if inside is not None and not target.is_relative_to(inside.resolve()):
        raise Forbidden(f"{path} leads out of the project", hint="look where it links to")
    return target


def _merged(client: _Client, text: str, transport: Transport, entry: Entry, *, force: bool) -> str:
    lines = text.replace("\r\n", "\n")
    merge = merged_toml if client.is_toml else merged_json
    new = merge(lines, client.section, NAME, entry, force=force)
    if transport == "http" and client.inputs:
        new = with_json_items(new, "inputs", client.inputs)
    if new == lines:
        return text
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `repofold init`."""
    parser.add_argument("--client", choices=[*CLIENTS, "all"])
    parser.add_argument(
        "--memory",
        action="store_true",
        help="write how agents use memory into AGENTS.md, and CLAUDE.md where there is one",
    )
    parser.add_argument(
        "--path",
        dest="agents_file",
        metavar="FILE",
        help=f"with --memory: this file instead (as does {agents_file.VARIABLE})",
    )
    parser.add_argument("--transport", choices=["stdio", "http"], default="stdio")
    parser.add_argument("--scope", choices=["project", "user"], default="project")
    parser.add_argument(
        "--url", default=URL, help="endpoint of the http transport (default: %(default)s)"
    )
    parser.add_argument(
        "--print", dest="print_only", action="store_true", help="show, but write nothing"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an entry that has other settings"
    )
    parser.add_argument(
        "path", nargs="?", default=".", type=Path, help="the repository (default: this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Do it and say what was done; returns the exit code, 1 when a file was left alone for a reason."""
    if args.client is None and not args.memory:
        raise InvalidArgument(
            "there is nothing to write",
            hint="give --client NAME for a client's configuration, --memory for AGENTS.md",
        )
    changes = _configured(args) if args.client else []
    if args.memory:
        changes += agents_file.write_blocks(
            args.path,
            agents_file.environment(),
            path=args.agents_file,
            print_only=args.print_only,
        )
    if args.json:
        print(json.dumps([_as_json(change) for change in changes], indent=2))
    else:
        _report(changes, args.transport if args.client else "", print_only=args.print_only)
    return int(any(change.action == "refused" for change in changes))


def _configured(args: argparse.Namespace) -> list[FileChange]:
    return init(
        args.client,
        transport=args.transport,
        scope=args.scope,
        target_dir=args.path,
        home=Path.home(),
        url=args.url,
        command=own_command(),
        print_only=args.print_only,
        force=args.force,
    )


def _report(changes: Sequence[FileChange], transport: str, *, print_only: bool) -> None:
    for change in changes:
        writes = change.action in ("created", "updated")
        verb = f"would be {change.action}" if writes and print_only else change.action
        note = f" ({change.note})" if change.note else ""
        title = CLIENTS[change.client].title if change.client in CLIENTS else "Memory"
        print(f"{title}: {change.path} {verb}{note}")
        if change.backup and not print_only:
            print(f"  as it was: {change.backup}")
        if print_only and writes:
            print(change.text)
    if transport == "http" and not print_only:
        print(f"set {TOKEN} to one of the server's tokens before you start the client")


def _as_json(change: FileChange) -> dict[str, str | None]:
    return {
        "client": change.client,
        "path": str(change.path),
        "action": change.action,
        "text": change.text,
        "backup": str(change.backup) if change.backup else None,
        "note": change.note,
    }
