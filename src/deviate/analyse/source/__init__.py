"""The project's files, what they define and which import which."""
