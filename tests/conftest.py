import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("linsep", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("linsep")
