"""How fast this project is, and how fast others are on the same machine in the same run."""
