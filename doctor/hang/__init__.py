"""`doctor hang`: where every process of a run stands, and who waits for whom."""
