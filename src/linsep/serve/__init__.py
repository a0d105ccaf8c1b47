"""The served learner: learns online behind HTTP, and loses nothing that it has acknowledged.

``parsing`` turns bodies of requests into examples, ``store`` keeps them on disk, ``learner`` is the library's own
online learner, ``service`` puts the three together in one writing thread; ``app`` and ``inference`` answer requests,
``server`` listens, and ``client`` asks.
"""
