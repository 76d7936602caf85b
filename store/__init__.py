"""How is the log folded, and where are the answers kept? Imports contracts only."""
