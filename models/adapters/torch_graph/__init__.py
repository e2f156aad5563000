"""Torch modules: which are taken (`modules`), their graphs (`export`)."""
