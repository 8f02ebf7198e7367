/* crc.h - CRC-32 (IEEE 802.3), against damage and not against intent */
#ifndef CORGI_NN_CRC_H
#define CORGI_NN_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_of(const void *bytes, size_t count);

#endif
