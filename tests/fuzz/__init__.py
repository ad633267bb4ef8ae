"""Tests with generated hostile input; ``make fuzz`` generates 60 times as much."""
