"""How does this service speak MCP without all that the SDK imports? By taking it in parts.

Said before any module here imports of it: its clients and its other kind of server are not used.
"""

from services.kernel import lean

lean.in_parts("mcp", "mcp.server")
