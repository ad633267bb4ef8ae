"""The real program under a terminal of its own."""
