"""The same training on many machines: the workers of a Dask cluster hold shards of the data, and learn from them."""

from linsep.cluster.farm import ClusterError, connect
from linsep.cluster.looking import confusion, predict, score
from linsep.cluster.mixing import fit
from linsep.cluster.shards import Shard, cut
from linsep.cluster.verdict import separate

__all__ = ["ClusterError", "Shard", "confusion", "connect", "cut", "fit", "predict", "score", "separate"]
