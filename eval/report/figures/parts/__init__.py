"""Code that several figures of papers share; no figure is here."""
