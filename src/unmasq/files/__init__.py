"""Files as such: written whole, arrays with a header, weight files, model cards. No jax here."""
