/* embed.h - a file as bytes of the binary: EMBED(name, "path") defines name and name_end
 */
#ifndef CORGI_BASE_EMBED_H
#define CORGI_BASE_EMBED_H

#define EMBED(symbol, path)                                                              \
    __asm__(".section .rodata\n"                                                         \
            ".global " #symbol "\n.balign 16\n" #symbol ":\n.incbin \"" path "\"\n"      \
            ".global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");          \
    extern const unsigned char symbol[], symbol##_end[]

#endif
