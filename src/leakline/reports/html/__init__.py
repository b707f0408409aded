"""The report for a browser: one file that holds its data, its script and its style."""
