"""Problems of the area rl: what the engine samples, and how far its policy is from the one that is trained."""
