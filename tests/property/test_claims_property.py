"""Claims against a plain model of a lock with a queue, whatever happens in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contracts.events.memory import (
    ClaimNote,
    ForgetNote,
    NotePatch,
    ReleaseClaim,
    RememberNote,
    RenewClaim,
)
from contracts.ids import RepoId
from contracts.notes import Note
from services.memory import claims
from services.memory.decision import Asked, Decision
from services.memory.notes import RecordCommand, decide

_MAX_LEASE = 100
OWNERS = st.sampled_from(["ada", "bob", "cy"])
LEASES = st.integers(1, 150)


@dataclass
class Model:
    """What a lock is, told as plainly as possible."""

    exists: bool = False
    dies_at: int | None = None
    last_token: int = 0  # of the key, for ever
    mark: int = 0  # of this life of the note
    released: int = 0
    holder: str | None = None  # command that holds the lock
    until: int = 0
    queue: list[tuple[str, int, int]] = field(default_factory=list)  # command, lease, deadline

    def pass_time(self, now: int) -> None:
        if self.exists and self.dies_at is not None and self.dies_at <= now:
            self.die()

    def die(self) -> None:
        self.exists, self.dies_at = False, None
        self.mark = self.released = self.until = 0
        self.holder, self.queue = None, []

    def free(self, now: int) -> bool:
        return self.holder is None or self.until <= now

    def grant(self, command: str, lease: int, now: int) -> None:
        self.last_token += 1
        self.mark, self.holder, self.until = self.last_token, command, now + lease

    def hand_over(self, now: int) -> None:
        self.queue = [entry for entry in self.queue if entry[2] > now]
        if self.queue and self.free(now):
            command, lease, _ = self.queue.pop(0)
            self.grant(command, lease, now)

    def may_write(self, token: int | None) -> str:
        if not self.exists or not self.mark:
            return ""
        live = self.released < self.mark
        if token is None:
            return "ClaimRequired" if live else ""
        if token < self.mark:
            return "StaleToken"
        if token > self.mark:
            return "UnissuedToken"
        return "" if live else "ClaimReleased"


class Claims(RuleBasedStateMachine):
    """The decisions, applied to one record, beside the model."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000
        self.note: Note | None = None
        self.model = Model()
        self.commands = 0
        self.grants: list[int] = []

    def ask(self, command: RecordCommand, *, command_id: str = "") -> Decision:
        self.commands += 1
        asked = Asked(
            id=command_id or f"c{self.commands}", now_ms=self.now, asked_ms=self.now,
            max_lease_ms=_MAX_LEASE,
        )  # fmt: skip
        self.model.pass_time(self.now)
        return self.apply(decide(self.note, command, asked))

    def apply(self, decision: Decision) -> Decision:
        if decision.change is None:
            return decision
        assert decision.note is not None
        before = self.note.claim.issued if self.note is not None else 0
        after = decision.note.claim.issued
        assert after in (before, before + 1)
        if after > before:
            self.grants.append(after)
        self.note = decision.note
        return decision

    def command(self, kind: type, **fields: object) -> RecordCommand:
        made: RecordCommand = kind(repo_id=RepoId("r"), topic="t", id="1", principal="p", **fields)
        return made

    # -- what may happen -------------------------------------------------------------------------

    @rule(seconds=st.integers(0, 60))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.model.pass_time(self.now)

    @rule(token=st.none() | st.integers(0, 12), ttl=st.sampled_from([0, 0, 0, 20, 200]))
    def write(self, token: int | None, ttl: int) -> None:
        patch = NotePatch(body=f"at {self.now} {self.commands}")
        decision = self.ask(self.command(RememberNote, patch=patch, token=token, ttl_ms=ttl))
        expected = self.model.may_write(token)
        assert decision.reply.fence == expected
        if expected:
            return
        if not self.model.exists:
            self.model.exists = True
            self.model.dies_at = self.now + ttl if ttl else None
        elif ttl:
            self.model.dies_at = max(self.model.dies_at or 0, self.now + ttl)

    @rule(token=st.none() | st.integers(0, 12), lapse=st.sampled_from([0, 0, 15]))
    def forget(self, token: int | None, lapse: int) -> None:
        decision = self.ask(self.command(ForgetNote, token=token, lapse_ms=lapse))
        expected = self.model.may_write(token)
        assert decision.reply.fence == expected
        if expected or not self.model.exists:
            return
        if lapse:
            self.model.dies_at = max(self.model.dies_at or 0, self.now + lapse)
        else:
            self.model.die()

    @rule(owner=OWNERS, lease=LEASES, patience=st.sampled_from([0, 0, 5, 50, 500]))
    def claim(self, owner: str, lease: int, patience: int) -> None:
        decision = self.ask(self.command(ClaimNote, owner=owner, lease_ms=lease, wait_ms=patience))
        name = f"c{self.commands}"
        if not self.model.exists:
            assert decision.reply.reason == "missing"
            return
        self.model.hand_over(self.now)
        if self.model.free(self.now):
            self.model.grant(name, min(lease, _MAX_LEASE), self.now)
            assert decision.reply.reason == ""
            assert decision.note is not None
            assert decision.note.claim.command == name
        elif patience:
            self.model.queue.append((name, min(lease, _MAX_LEASE), self.now + patience))
            assert decision.waits
        else:
            assert (decision.reply.reason, decision.waits) == ("contended", False)

    @precondition(lambda self: self.note is not None)
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        """A claim that stands in the queue, or holds the lock, comes once more: nothing changes."""
        self.model.pass_time(self.now)
        if not self.model.exists:
            return
        known = [name for name, _, deadline in self.model.queue if deadline > self.now]
        if self.model.holder is not None:
            known.append(self.model.holder)
        if not known:
            return
        name = data.draw(st.sampled_from(known))
        depth = len(known)
        decision = self.ask(
            self.command(ClaimNote, owner="x", lease_ms=9, wait_ms=900), command_id=name
        )
        if name != self.model.holder:  # the holder is answered as it was
            self.model.hand_over(self.now)
            assert decision.waits == (self.model.holder != name)
        assert len(self.model.queue) <= depth

    @rule(token=st.integers(0, 12), lease=LEASES)
    def renew(self, token: int, lease: int) -> None:
        decision = self.ask(self.command(RenewClaim, token=token, lease_ms=lease))
        if not self.model.exists:
            assert decision.reply.reason == "missing"
        elif self.model.free(self.now) or token != self.model.mark:
            self.model.hand_over(self.now)
            assert decision.reply.reason == "superseded"
        else:
            self.model.until = self.now + min(lease, _MAX_LEASE)
            assert decision.reply.reason == ""

    @rule(token=st.integers(0, 12))
    def release(self, token: int) -> None:
        decision = self.ask(self.command(ReleaseClaim, token=token))
        if not self.model.exists:
            expected = "missing"
        elif not self.model.mark:
            expected = "unclaimed"
        elif token != self.model.mark:
            expected = "stale"
        else:
            expected = ""
            if self.model.released < token:
                self.model.released, self.model.holder = token, None
                self.model.hand_over(self.now)
        assert decision.reply.reason == expected

    @rule()
    def look(self) -> None:
        """Whoever waits looks at the record: the first in line gets what is free."""
        self.model.pass_time(self.now)
        asked = Asked(id="look", now_ms=self.now)
        self.apply(claims.settle(self.note, asked))
        if self.model.exists:
            self.model.hand_over(self.now)

    # -- what always holds -----------------------------------------------------------------------

    @invariant()
    def the_record_says_what_the_model_says(self) -> None:
        if self.note is None:
            assert not self.model.exists
            return
        assert self.note.is_live(self.now) == self.model.exists
        assert self.note.claim.issued == self.model.last_token
        if not self.model.exists:
            return
        claim = self.note.claim
        assert (claim.fence, claim.released) == (self.model.mark, self.model.released)
        assert claim.is_held(self.now) == (not self.model.free(self.now))
        waiting = [name for name, _, deadline in self.model.queue if deadline > self.now]
        assert [waiter.command for waiter in claim.waiting(self.now)] == waiting

    @invariant()
    def tokens_only_rise(self) -> None:
        assert self.grants == sorted(set(self.grants))


def test_claims_behave_as_a_lock_with_a_queue() -> None:
    run_state_machine_as_test(
        Claims, settings=settings(max_examples=100, stateful_step_count=30, deadline=None)
    )
