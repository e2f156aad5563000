"""The results of a run on disk: workdir, cells, table and provenance."""
