"""Long runs, shortened: what must not grow over 20,000 ticks. ``make soak``."""
