"""cpp: being written.
"""
