"""`shot_by_shot`: the same results, and on a CPU no shot that waits for another."""

import jax
import jax.numpy as jnp
import numpy as np

from unmasq.models.shot_by_shot import shot_by_shot

_STOPS = np.array([3, 0, 7, 1], np.int32)
_ROWS = np.arange(8, dtype=np.int32).reshape(2, 4)


def _count(stops, rows):
    """Turns of the loop until the last of these shots stops; and something of each shot."""
    turns = jax.lax.while_loop(lambda n: jnp.any(n < stops), lambda n: n + 1, jnp.int32(0))
    return jnp.broadcast_to(turns, stops.shape), {"sums": jnp.cumsum(rows, axis=0)}


def test_a_shot_leaves_its_loop_when_it_is_done(way):
    turns, other = jax.jit(lambda *arrays: shot_by_shot(_count, *arrays))(_STOPS, _ROWS)
    np.testing.assert_array_equal(turns, _STOPS if way == "cpu" else 4 * [7])
    np.testing.assert_array_equal(other["sums"], np.cumsum(_ROWS, axis=0))


def test_no_shots_have_no_results(way):
    turns, other = shot_by_shot(_count, jnp.asarray(_STOPS[:0]), jnp.asarray(_ROWS[:, :0]))
    assert turns.shape == (0,)
    assert other["sums"].shape == (2, 0)
