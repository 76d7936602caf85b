"""Who does the work? Workers, and the kernel and source modules that they share."""
