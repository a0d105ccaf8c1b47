"""Training, prediction and verdicts on a Dask cluster, whose workers hold shards of the data."""

from linsep.cluster.parameter_mixing import fit
from linsep.cluster.predicting import confusion, predict, score
from linsep.cluster.shards import Shard, cut
from linsep.cluster.verdicts import separate
from linsep.cluster.workers import ClusterError, connect

__all__ = ["ClusterError", "Shard", "confusion", "connect", "cut", "fit", "predict", "score", "separate"]
