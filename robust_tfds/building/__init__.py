"""How a set is built: its kinds, sources, configs and the session of a build."""
