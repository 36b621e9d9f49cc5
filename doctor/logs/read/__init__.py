"""From files, streams and archives to lines."""
