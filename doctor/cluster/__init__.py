"""More than one machine: gather from every node with the engine that the user runs, judge the nodes together."""
