"""Hostile input by the thousand; ``make fuzz`` runs these tests with a hundred times as much of it."""
