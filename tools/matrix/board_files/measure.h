/* What a call of an exported function takes; the calls of a test are written through macros (`board.py`). */
void begin_call(void);
int end_call(const char *name, int status);
