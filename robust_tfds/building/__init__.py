"""The building of sets: their kinds, sources, configs and build sessions."""
