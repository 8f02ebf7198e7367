/* embed.h - a file as bytes of the binary: EMBED(name, "path") makes name, name_end */
#pragma once

#define EMBED(symbol, path)                                                              \
    __asm__(".section .rodata\n"                                                         \
            ".global " #symbol "\n.balign 16\n" #symbol ":\n.incbin \"" path "\"\n"      \
            ".global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");          \
    extern const unsigned char symbol[], symbol##_end[]
