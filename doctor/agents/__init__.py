"""The doctor for coding agents: an MCP server over stdio, and the skill that says how to use the command line."""
