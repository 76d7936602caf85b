"""What does a client ask, and what does it get? One request and one answer Struct per tool."""
