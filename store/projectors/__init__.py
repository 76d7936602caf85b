"""The write side: one file per group of tables. Used by store/fold.py alone."""
