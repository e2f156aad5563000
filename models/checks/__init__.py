"""Checks of the inputs and outputs of models."""
