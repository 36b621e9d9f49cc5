"""Problems of the area rl: rewards and rollouts."""
