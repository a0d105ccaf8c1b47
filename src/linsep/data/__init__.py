"""Reads files, arrays and frames into blocks of rows, labels and weights.

In: paths, streams, arrays. Out: ``Source`` (blocks of a file) or ``Rows`` and class codes. Read ``opening`` first.
"""
