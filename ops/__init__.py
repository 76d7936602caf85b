"""How is it run and watched? May import everything."""
