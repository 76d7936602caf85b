"""The tool bodies: one module per group, one function per tool."""
