"""Torch modules: checks of them (`modules`), and their graphs (`export`)."""
