// A library whose variables hold references of a random program.
void* held[4];
