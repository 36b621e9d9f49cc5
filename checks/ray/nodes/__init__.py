"""Problems of the area ray: nodes and resources."""
