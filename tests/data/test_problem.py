"""Rows can be counted and taken, dense or sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep.data.arrays import to_rows
from linsep.problem import count, take


@pytest.mark.parametrize("which", [slice(2, 7), np.array([5, 0, 5, 3]), np.array([], dtype=int), slice(0, 0)])
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array])
def test_take(storage, which):
    X = np.random.default_rng(0).integers(0, 3, (9, 4)).astype(float)
    rows = take(to_rows(storage(X)), which)
    if storage is sp.csr_array:
        back = sp.csr_array(
            (rows.data, rows.indices.view(np.int32), rows.indptr.view(np.int32)), shape=(count(rows), 4)
        )
        assert np.array_equal(back.toarray(), X[which])
    else:
        assert np.array_equal(rows.data, X[which])
        assert rows.data.flags.c_contiguous
    assert count(rows) == len(X[which])


def test_rows_share_the_memory_of_the_matrix():
    for X in (np.ones((3, 2)), np.ones((3, 2), np.float32), np.ones((3, 2), np.uint8), np.ones((3, 2), bool)):
        assert np.shares_memory(to_rows(X).data, X)
        assert np.shares_memory(to_rows(np.asfortranarray(X)).data, np.asfortranarray(X)) is False
    S = sp.csr_array(np.eye(3, dtype=np.float32))
    assert np.shares_memory(to_rows(S).data, S.data)
    assert np.shares_memory(to_rows(S).indices, S.indices)
