"""How does one machine run everything? State directory, broker, processes, onboarding."""
