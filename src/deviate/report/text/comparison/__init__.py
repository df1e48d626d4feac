"""The facts about a comparison in sentences."""
