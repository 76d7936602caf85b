"""The read side of the projections: answers, never changes."""
