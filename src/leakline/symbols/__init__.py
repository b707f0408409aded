"""Names addresses: functions, files, lines, inlined calls, demangled."""
