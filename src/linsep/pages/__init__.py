"""HTML pages: ``reporting`` writes a report on a data set, ``explorer`` is an interactive page.

In: rows and labels. Out: a page. Read ``reporting/study.py`` or ``explorer/engine/engine.js`` first; ``script`` puts
JavaScript modules into a page.
"""
