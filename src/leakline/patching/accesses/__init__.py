"""Plans for lens `accesses`: loads and stores that can be armed while a program runs."""
