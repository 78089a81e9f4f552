/* other_notes.c -- has a segment of notes that are not ours, padded to 8 bytes as a linker's
 * .note.gnu.property is. */
#include <dispatchd/plugin.h>

DP_PLUGIN(other_notes, "1.0")

DP_LIBRARY(other_notes, DP_DEF("nothing() -> ()"))

__asm__(".pushsection .note.other, \"a\", @note\n"
        ".balign 8\n"
        ".long 4, 8, 5\n"
        ".ascii \"ODD\\0\"\n"
        ".ascii \"odd, odd\"\n"
        ".popsection\n");
