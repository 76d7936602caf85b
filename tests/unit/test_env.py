"""Is a reader ever held up because the environment grew under it?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from store.env import Env

ROWS = 200
GROW = f"""
import sys
from pathlib import Path
from store.env import Env, MapFull

env = Env(Path(sys.argv[1]), writable=True)
before = env.usage()["map_bytes"]
done = 0
while done < {ROWS}:
    try:
        with env.write() as txn:
            txn.put("meta", b"row%d" % done, b"x" * 1_000_000)
        done += 1
    except MapFull:
        env.grow()
assert env.usage()["map_bytes"] > before
"""


def test_a_reader_that_holds_a_snapshot_reads_on_while_the_map_grows(tmp_path: Path) -> None:
    Env(tmp_path, writable=True).close()
    reader = Env(tmp_path, writable=False)
    with reader.read() as held:
        subprocess.run([sys.executable, "-c", GROW, str(tmp_path)], check=True)

        with reader.read() as fresh:
            assert fresh.get("meta", b"row%d" % (ROWS - 1)) is not None
        assert held.get("meta", b"row0") is None
    reader.close()
