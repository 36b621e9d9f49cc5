"""Problems of the area rl: rewards, and the answers that they judge."""
