"""What `doctor serve` does outside of the server: which command it starts, with what added, and who looks after it."""
