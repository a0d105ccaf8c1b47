"""HTML: ``reporting`` writes one file about a data set, ``explorer`` is a page on which points are dragged.

In: rows and labels. Out: a page. Read ``reporting/study.py`` or ``explorer/engine.py`` first.
"""
