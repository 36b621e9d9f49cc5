"""What the witness finds: an engine that does not sample from the policy that learns, episodes that prove nothing."""
