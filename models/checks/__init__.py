"""Checks of the inputs and outputs of models, with refusals in words."""
