"""The served learner: learns online behind HTTP, and loses nothing that it has acknowledged.

``store`` keeps examples on disk, ``service`` writes and learns in one thread, ``app`` and ``inference`` answer,
``server`` listens, and ``client`` asks. What is in a request is read by `linsep.serve.bodies`, put under columns by
`linsep.data.example_log`, and learned by `linsep.models.progressive`.
"""
