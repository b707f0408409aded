// Programs that a child of vfork becomes. The child shares its parent's memory until
// then, so it may note the exec there but must not write, and the note is withdrawn
// when the exec fails (a shell tries every folder of PATH).
#pragma once

// In the child.
void ll_vfork_note_exec(const char* path);
void ll_vfork_withdraw_exec(void);

// In the parent, under the look lock: records what its children have become.
void ll_vfork_record_execs(void);

// In a forked child: those children are its parent's.
void ll_vfork_forget(void);
