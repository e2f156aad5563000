"""What a run leaves on disk: the workdir, its cells, the table, where from."""
