"""Bytes to rows: files, arrays and frames become blocks of rows, labels and weights.

In: paths, streams, arrays. Out: ``Source`` (blocks of a file) or ``Rows`` and class codes. Read ``opening`` first.
"""
