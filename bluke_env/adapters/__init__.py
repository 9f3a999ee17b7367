"""The game in the form of other libraries; each module needs its library."""
