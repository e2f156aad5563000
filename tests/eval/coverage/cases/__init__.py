"""Cases of the coverage of intervals, a file a topic: `CASES` of each."""
