"""How does a repository named on the command line become known?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Conflict, Fault, Forbidden, InvalidArgument, Unavailable
from contracts.events import AddRepo, WalkFilters
from contracts.events.commands import CommandReply
from contracts.events.progress import FoldedNotice
from contracts.ids import RepoId
from services.kernel.bus import Bus, Msg
from services.source.origin import origin_slug

_ANSWER_S = 60.0
_FOLD_S = 1.0
_FAULTS: dict[str, type[Fault]] = {
    fault.code: fault for fault in (InvalidArgument, Forbidden, Conflict, Unavailable)
}
_decode_reply = msgspec.msgpack.Decoder(CommandReply).decode
_decode_notice = msgspec.msgpack.Decoder(FoldedNotice).decode


def repo_ids(roots: Sequence[Path]) -> dict[RepoId, Path]:
    """Name each repository after its folder; folders of one name are told apart by their parents'."""
    named: dict[RepoId, Path] = {}
    names = [root.name for root in roots]
    for root in roots:
        name = root.name or "root"
        if names.count(root.name) > 1:
            name = f"{root.parent.name or 'root'}-{name}"
        if any(char < " " or char == "\x7f" for char in name):
            raise InvalidArgument(
                f"the folder's name {name!r} is no name for a repository",
                hint="start with --workspace-root and add it with repocontext_add_repo under a repoId of your choice",
            )
        if RepoId(name) in named:
            raise InvalidArgument(
                f"{root} and {named[RepoId(name)]} would have the same name {name!r}",
                hint="start with --workspace-root and add them with repocontext_add_repo under names of your choice",
            )
        named[RepoId(name)] = root
    return named


class Onboarding:
    """Registers repositories through the memory worker and waits until they are visible."""

    def __init__(self, bus: Bus, node: str) -> None:
        self._bus, self._node = bus, node
        self._folded = 0
        self._wanted = 0
        self._visible = asyncio.Event()

    async def run(self, roots: Sequence[Path]) -> None:
        """Register every root; raises the fault that the memory worker answers with."""
        if not roots:
            return
        notices = await self._bus.subscribe(subjects.folded(self._node), self._on_folded)
        try:
            replies = await asyncio.gather(
                *(self._add(repo_id, root) for repo_id, root in repo_ids(roots).items())
            )
            self._wanted = max(reply.log_sequence for reply in replies)
            if self._folded < self._wanted:
                # A projection that was up to date announces nothing: then there is nothing to wait for.
                await asyncio.wait([asyncio.ensure_future(self._visible.wait())], timeout=_FOLD_S)
        finally:
            await notices.unsubscribe()

    async def _on_folded(self, message: Msg) -> None:
        self._folded = max(self._folded, _decode_notice(message.data).log)
        if self._wanted and self._folded >= self._wanted:
            self._visible.set()

    async def _add(self, repo_id: RepoId, root: Path) -> CommandReply:
        answered: asyncio.Future[CommandReply] = asyncio.get_running_loop().create_future()

        async def arrived(message: Msg) -> None:
            if not answered.done():
                answered.set_result(_decode_reply(message.data))

        inbox = self._bus.inbox()
        subscription = await self._bus.subscribe(inbox, arrived)
        slug = origin_slug(root)
        command = AddRepo(
            repo_id=repo_id, root=str(root), filters=WalkFilters(), principal="operator",
            aliases=(slug,) if slug else (),
        )  # fmt: skip
        envelope = Envelope(
            id=new_id(), repo=repo_id, at_ms=now_ms(), producer="ops", reply_to=inbox, event=command
        )
        try:
            await (
                await self._bus.put(
                    subjects.repo_command(repo_id), encode(envelope), message_id=envelope.id
                )
            )
            reply = await asyncio.wait_for(answered, _ANSWER_S)
        except TimeoutError:
            raise Unavailable(
                f"{repo_id} could not be registered: the memory worker does not answer",
                hint="see the log above; `repofold doctor` looks for the cause",
            ) from None
        finally:
            await subscription.unsubscribe()
        if not reply.ok:
            raise _FAULTS.get(reply.code, Fault)(f"{repo_id}: {reply.message}", hint=reply.hint)
        return reply
