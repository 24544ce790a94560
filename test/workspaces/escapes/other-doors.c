/* System calls by the two other doors of x86-64: that of 32-bit programs, and that of the x32 kind. */
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>

int main(void) {
  long old;
  /* getpid has number 20 there. */
  __asm__ volatile("int $0x80" : "=a"(old) : "a"(20) : "memory");
  if (old == getpid()) puts("GOT by the door of 32 bits");
  if (syscall(0x40000000 + SYS_getpid) == getpid()) puts("GOT by the door of x32");
  return 0;
}
