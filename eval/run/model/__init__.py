"""The models of a run: from their names in a config to the devices.

definitions.py says what it is and finds its checkpoint, load.py brings its weights
onto the devices; probe.py asks a user's own model before the run, own_models.py
whether it is still the one of the finished cells.
"""
