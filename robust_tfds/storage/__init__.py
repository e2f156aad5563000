"""Reading and writing on this machine and in buckets: paths, locks, whole files.

paths        what a user names, on this machine or in a bucket
locks        one process at a time; folders that go with their process
whole_files  files that are whole under their names, or absent
"""
