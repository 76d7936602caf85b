"""How is an environment folded from zero, beside the live one?"""

from __future__ import annotations

from pathlib import Path

from services.kernel.bus import Bus
from services.projector.fold_loop import FoldLoop, reachable
from store import location
from store.fold import Folder, open_writable


async def rebuild(bus: Bus, projections: Path) -> Path:
    """Fold everything into a new environment and make it the live one; returns its folder.

    The caller must hold the node, or be the projector itself.
    """
    await reachable(bus)
    target = location.fresh(projections)
    env = open_writable(target, sync=False)
    folding = FoldLoop(bus, Folder(env))
    try:
        await folding.catch_up()
        env.sync()
    finally:
        env.close()
        await folding.close()
    location.swap(projections, target)
    return target
