"""The static checker: leaks on paths no test runs."""
