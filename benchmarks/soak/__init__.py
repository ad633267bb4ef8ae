"""Long runs in simulated time: checks for growth over 20,000 ticks. ``make soak``."""
