"""Ray: cluster, versions, resources."""
