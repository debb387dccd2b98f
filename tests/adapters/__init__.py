"""Each adapter in the real library."""
