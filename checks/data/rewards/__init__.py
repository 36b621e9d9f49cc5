"""Problems of the area data: rewards and rollouts."""
