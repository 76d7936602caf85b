"""What can go wrong, and how is it named?

    Fault
    ├── InvalidArgument     the caller's mistake: missing, blank, unbindable, undeclared, out of bounds
    ├── NotFound            a named thing does not exist
    ├── Conflict            a conditional append lost its race, or a state forbids the act
    ├── Forbidden           path outside the roots, missing scope, writes switched off
    ├── Unavailable         a dependency is down or not ready; retry later        (retryable)
    ├── IndexNotAvailable   no baseline of the commit that is asked about           (retryable)
    ├── WorkspaceRequired   what was given makes sense in a workspace only
    ├── CompilationFailed   nothing could be read out of the tree                   (retryable)
    ├── Ambiguous           a name means several things; the message lists them
    ├── OverBudget          the answer would be larger than a result may be
    ├── Superseded          a newer version of the same thing is already recorded
    ├── Poisoned            this message can never be handled; park it at once
    └── StateHeld           another node holds the state directory

`code` is public and stable; the message is for people and may change; `hint` says the next step.
"""

from __future__ import annotations


class Fault(Exception):
    """Base of every error this code base raises on purpose."""

    code = "INTERNAL"
    retryable = False

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InvalidArgument(Fault):
    code = "INVALID_ARGUMENT"


class NotFound(Fault):
    code = "NOT_FOUND"


class Conflict(Fault):
    code = "CONFLICT"


class Forbidden(Fault):
    code = "FORBIDDEN"


class Unavailable(Fault):
    code = "UNAVAILABLE"
    retryable = True


class IndexNotAvailable(Fault):
    code = "INDEX_NOT_AVAILABLE"
    retryable = True


class WorkspaceRequired(Fault):
    code = "WORKSPACE_REQUIRED"


class CompilationFailed(Fault):
    code = "COMPILATION_FAILED"
    retryable = True


class Ambiguous(Fault):
    code = "AMBIGUOUS"


class OverBudget(Fault):
    code = "OVER_BUDGET"


class Superseded(Fault):
    code = "SUPERSEDED"


class Poisoned(Fault):
    code = "POISONED"


class StateHeld(Fault):
    code = "STATE_HELD"


def named(code: str) -> type[Fault]:
    """The kind of fault that a code names; of a code of its own, a Fault that carries it."""
    for kind in Fault.__subclasses__():
        if kind.code == code:
            return kind
    return type("Fault", (Fault,), {"code": code or Fault.code})
