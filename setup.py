"""Thin entry point: everything is declared in pyproject.toml."""

import setuptools

setuptools.setup()
