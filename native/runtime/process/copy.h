// Copies of the process that look at its heap while it goes on. The program never
// notices them: no SIGCHLD, nothing for its wait(), no descriptor kept open.
#pragma once

enum ll_copy { LL_COPY_SELF, LL_COPY_PARENT, LL_COPY_FAILED };

// Makes a copy; returns in both. LL_COPY_SELF: the caller is the copy, alone with the
// memory of that moment, able to write the recording under its parent's identity.
enum ll_copy ll_copy_make(void);

// Ends the copy.
_Noreturn void ll_copy_end(void);

// Takes the remains of copies that have ended. Cheap when there are none.
void ll_copy_reap(void);

// In a forked child: its parent's copies are not its own.
void ll_copy_forget(void);
