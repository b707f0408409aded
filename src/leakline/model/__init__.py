"""The vocabulary every part shares: findings, stacks, runs. Imports nothing of ours."""
