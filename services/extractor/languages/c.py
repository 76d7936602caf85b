"""c: being written.
"""
