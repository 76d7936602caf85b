"""What crosses a process boundary? Imports nothing of ours."""
