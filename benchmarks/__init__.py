"""Speed and memory of Leakline beside its peers, as ratios to the plain program."""
