"""Speed lost: ping-pong, stragglers, data-bound runs."""
