"""How is a row of times told?"""

from __future__ import annotations

import statistics
from typing import Any


def spread(name: str, times: list[float]) -> dict[str, Any]:
    """Median, 95th percentile and worst of times in milliseconds."""
    ordered = sorted(times)
    return {
        name: {
            "median": round(statistics.median(ordered), 1),
            "p95": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
            "max": round(ordered[-1], 1),
            "n": len(ordered),
        }
    }
