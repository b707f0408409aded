// The /proc folder, held open for a process that is about to lose sight of it (chroot).
#pragma once

// Takes a descriptor with a high number, once.
void ll_proc_keep_open(void);

// That descriptor, -1 if there is none or the program has closed it. ll_file_open uses
// it for paths below /proc.
int ll_proc_kept_descriptor(void);
