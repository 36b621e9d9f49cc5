"""A supervised run: its folder, its processes, what is carried into them."""
