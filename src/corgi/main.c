/* main.c - the corgi command */
#include <stdio.h>

int main(void)
{
    printf("corgi %s\n", CORGI_VERSION);
    return 0;
}
