"""Where are the parts of an array that holds lists of different lengths, one after the other?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.source.word_keys import I8


def bounds(sizes: npt.NDArray[np.bool_ | np.integer] | Sequence[int]) -> I8:
    """Where each list starts, and where the last one ends."""
    found = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


def ranges(starts: I8, counts: I8) -> I8:
    """The numbers from each start on, so many of each."""
    ends = np.cumsum(counts)
    found: I8 = np.repeat(starts - ends + counts, counts)
    found += np.arange(len(found))
    return found
