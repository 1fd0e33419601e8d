"""Check matrices of small codes, written out by hand rather than by the package."""

import numpy as np


def ring(length):
    """The repetition code on a circle: check i compares bits i and i + 1."""
    identity = np.eye(length, dtype=np.uint8)
    return identity ^ np.roll(identity, 1, axis=1)


def product(first, second):
    """H_X and H_Z of the hypergraph product of two classical codes."""
    (m1, n1), (m2, n2) = first.shape, second.shape

    def eye(size):
        return np.eye(size, dtype=np.uint8)

    return (
        np.concatenate([np.kron(first, eye(n2)), np.kron(eye(m1), second.T)], axis=1),
        np.concatenate([np.kron(eye(n1), second), np.kron(first.T, eye(m2))], axis=1),
    )


def toric(height, width):
    return product(ring(height), ring(width))


def random_product(seed=0):
    """Two random classical codes, neither of which has a symmetry that moves everything."""
    rng = np.random.default_rng(seed)
    while True:
        first, second = (rng.integers(0, 2, (3, n)).astype(np.uint8) for n in (5, 4))
        if all(matrix.any(axis=axis).all() for matrix in (first, second) for axis in (0, 1)):
            return product(first, second)
