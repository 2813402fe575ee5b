/* Start-up code of an emulated Cortex-M4 (qemu-system-arm -M mps2-an386), and what newlib asks of a system: output and the end of the program
   go to the emulator (semihosting). Before a measured call the stack is painted, so that it shows afterwards how much of it was used. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "measure.h"

extern uint32_t stack_limit[], stack_top[], data_from[], data_begin[], data_end[], bss_begin[], bss_end[];
extern char heap_begin[], heap_end[];
int main(void);
void reset(void);

#define PAINT 0xdeadbeefu
#define TIMER ((volatile uint32_t *)0x40000000) /* control, value, reload, interrupt: 25 MHz */

static int call_host(int number, const void *argument) {
    register int r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void fault(void) {
    call_host(0x04, "the processor stopped: memory or instruction fault\n");
    call_host(0x18, (void *)0x20023);
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault};

static struct { const char *name; unsigned instructions, stack; } calls[8];
static uint32_t *call_begin, call_ticks;

__attribute__((noinline)) void begin_call(void) {
    call_begin = __builtin_frame_address(0);
    for (uint32_t *word = stack_limit; word < call_begin - 16; word++) *word = PAINT;
    call_ticks = TIMER[1];
}

/* The emulator counts 1 ns for an instruction; a tick is 40 ns. */
__attribute__((noinline)) int end_call(const char *name, int status) {
    const uint32_t ticks = call_ticks - TIMER[1];
    uint32_t *word = stack_limit;
    while (word < call_begin && *word == PAINT) word++;
    for (int i = 0; i < 8; i++) {
        if (calls[i].name == NULL || strcmp(calls[i].name, name) == 0) {
            calls[i].name = name;
            calls[i].instructions = 40 * (unsigned)ticks;
            calls[i].stack = (unsigned)((char *)call_begin - (char *)word);
            break;
        }
    }
    return status;
}

__attribute__((noreturn)) void _exit(int status);
void _exit(int status) {
    call_host(0x18, (void *)(status == 0 ? 0x20026 : 0x20023)); /* ADP_Stopped_ApplicationExit, or an error */
    for (;;) {}
}

void reset(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* the floating-point unit */
    __asm__ volatile("dsb\n isb");
    memcpy(data_begin, data_from, (size_t)((char *)data_end - (char *)data_begin));
    memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
    TIMER[1] = TIMER[2] = 0xffffffffu;
    TIMER[0] = 1;
    const int status = main();
    for (int i = 0; i < 8 && calls[i].name != NULL; i++) {
        printf("%s: %u instructions, %u bytes of stack\n", calls[i].name, calls[i].instructions, calls[i].stack);
    }
    fflush(stdout);
    _exit(status);
}

int _write(int file, const char *text, int count);
int _write(int file, const char *text, int count) {
    (void)file;
    for (int i = 0; i < count; i++) call_host(0x03, text + i);
    return count;
}

void *_sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes) {
    static char *end = heap_begin;
    if (bytes > heap_end - end) return (void *)-1;
    end += bytes;
    return end - bytes;
}

int _close(int file);
int _close(int file) { (void)file; return -1; }
int _fstat(int file, struct stat *status);
int _fstat(int file, struct stat *status) { (void)file; status->st_mode = S_IFCHR; return 0; }
int _isatty(int file);
int _isatty(int file) { (void)file; return 1; }
int _lseek(int file, int place, int from);
int _lseek(int file, int place, int from) { (void)file, (void)place, (void)from; return 0; }
int _read(int file, char *text, int count);
int _read(int file, char *text, int count) { (void)file, (void)text, (void)count; return 0; }
