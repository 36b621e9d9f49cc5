"""What goes wrong in reinforcement learning itself: KL, entropy, reward, stale weights."""
