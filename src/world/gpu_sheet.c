/* gpu_sheet.c - the catalogue of cards; looking up and checking data sheets
 *
 * Everybody who knows a card by name asks here: clusters, telemetry, tables, traces.
 *
 * FP32 is the vector rate at boost clock and FP16 the dense rate of the tensor or matrix
 * cores with FP32 accumulation, the way training uses them.  Cards without a fast FP16
 * path compute half precision at the FP32 rate, so that is their figure.  Boards with two
 * devices (K80, M60, MI250X) are listed as one of them, as the driver shows them, with
 * half the board's power.
 *
 * Sources hold for rates, bandwidth, memory and TDP.  No data sheet tells idle draw or
 * the lowest power limit: those are rounded from what the drivers' tools are commonly
 * seen to show for such a card without a process, and a cluster's own readings go before
 * them. AMD's driver takes almost any limit: there the lowest is set to a third of the
 * TDP. */
#include "world/gpu_sheet.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define CARD(key, full, fp32, fp16, gbs, gb, units, tdp, idle, cap, since, from)         \
    {                                                                                    \
        .name = key, .title = full, .fp32_tflops = fp32, .fp16_tflops = fp16,            \
        .bandwidth_gbs = gbs, .memory_gb = gb, .sms = units, .tdp_watts = tdp,           \
        .idle_watts = idle, .cap_min_watts = cap, .year = since, .source = from          \
    }

/* clang-format off */
static const struct gpu_sheet cards[] = {
/*   name             title                                  FP32   FP16  GB/s   GB   SMs   TDP idle  cap  year */
CARD("k80",           "NVIDIA Tesla K80 (one of two GPUs)",   2.8,   2.8,   240,  12,  13,  150,  27, 100, 2014,
     "NVIDIA Tesla K80 board specification, 2015: base clock, half a board"),
CARD("m60",           "NVIDIA Tesla M60 (one of two GPUs)",   4.8,   4.8,   160,   8,  16,  150,  14, 112, 2015,
     "NVIDIA Tesla M60 product brief, 2016: half a board"),
CARD("p4",            "NVIDIA Tesla P4",                      5.5,   5.5,   192,   8,  20,   75,   7,  60, 2016,
     "NVIDIA Tesla P4 data sheet, 2016"),
CARD("p40",           "NVIDIA Tesla P40",                    11.8,  11.8,   346,  24,  30,  250,  10, 125, 2016,
     "NVIDIA Tesla P40 data sheet, 2016"),
CARD("p100-16",       "NVIDIA Tesla P100 PCIe 16 GB",         9.3,  18.7,   732,  16,  56,  250,  27, 125, 2016,
     "NVIDIA Tesla P100 PCIe data sheet, 2016"),
CARD("v100-16",       "NVIDIA Tesla V100 PCIe 16 GB",        14.0, 112.0,   900,  16,  80,  250,  25, 100, 2017,
     "NVIDIA Tesla V100 data sheet, 2018"),
CARD("v100-sxm2-16",  "NVIDIA Tesla V100 SXM2 16 GB",        15.7, 125.0,   900,  16,  80,  300,  40, 150, 2017,
     "NVIDIA Tesla V100 data sheet, 2018"),
CARD("v100-32",       "NVIDIA Tesla V100 PCIe 32 GB",        14.0, 112.0,   900,  32,  80,  250,  25, 100, 2018,
     "NVIDIA Tesla V100 data sheet, 2018"),
CARD("v100-sxm2-32",  "NVIDIA Tesla V100 SXM2 32 GB",        15.7, 125.0,   900,  32,  80,  300,  42, 150, 2018,
     "NVIDIA Tesla V100 data sheet, 2018"),
CARD("t4",            "NVIDIA T4",                            8.1,  65.0,   320,  16,  40,   70,  10,  60, 2018,
     "NVIDIA T4 data sheet, 2018; bandwidth from the T4 product brief"),
CARD("rtx2080ti",     "NVIDIA GeForce RTX 2080 Ti",          13.4,  53.8,   616,  11,  68,  250,  14, 100, 2018,
     "NVIDIA Turing architecture white paper, 2018: reference card"),
CARD("rtx6000",       "NVIDIA Quadro RTX 6000 (Turing)",     16.3, 130.5,   672,  24,  72,  260,  20, 100, 2018,
     "NVIDIA Quadro RTX 6000 data sheet, 2018"),
CARD("a100-40",       "NVIDIA A100 SXM4 40 GB",              19.5, 312.0,  1555,  40, 108,  400,  50, 100, 2020,
     "NVIDIA A100 data sheet, 2020"),
CARD("a100-pcie-40",  "NVIDIA A100 PCIe 40 GB",              19.5, 312.0,  1555,  40, 108,  250,  34, 150, 2020,
     "NVIDIA A100 data sheet, 2020"),
CARD("rtx3090",       "NVIDIA GeForce RTX 3090",             35.6,  71.0,   936,  24,  82,  350,  20, 100, 2020,
     "NVIDIA Ampere GA102 architecture white paper, 2020"),
CARD("a40",           "NVIDIA A40",                          37.4, 149.7,   696,  48,  84,  300,  24, 100, 2020,
     "NVIDIA A40 data sheet, 2020"),
CARD("a100-80",       "NVIDIA A100 SXM4 80 GB",              19.5, 312.0,  2039,  80, 108,  400,  58, 100, 2020,
     "NVIDIA A100 data sheet, 2021"),
CARD("mi100",         "AMD Instinct MI100",                  23.1, 184.6,  1229,  32, 120,  300,  35, 100, 2020,
     "AMD Instinct MI100 data sheet, 2020"),
CARD("a100-pcie-80",  "NVIDIA A100 PCIe 80 GB",              19.5, 312.0,  1935,  80, 108,  300,  44, 150, 2021,
     "NVIDIA A100 data sheet, 2021"),
CARD("a10",           "NVIDIA A10",                          31.2, 125.0,   600,  24,  72,  150,  17, 100, 2021,
     "NVIDIA A10 data sheet, 2021"),
CARD("mi250x",        "AMD Instinct MI250X (one of two GCDs)", 23.9, 191.5, 1638, 64, 110,  280,  45,  93, 2021,
     "AMD Instinct MI250X data sheet, 2021: half a board"),
CARD("mi210",         "AMD Instinct MI210",                  22.6, 181.0,  1638,  64, 104,  300,  41, 100, 2022,
     "AMD Instinct MI210 data sheet, 2022"),
CARD("h100-pcie",     "NVIDIA H100 PCIe 80 GB",              51.2, 756.0,  2039,  80, 114,  350,  48, 200, 2022,
     "NVIDIA H100 PCIe product brief, 2022"),
CARD("h100-sxm",      "NVIDIA H100 SXM5 80 GB",              66.9, 989.4,  3350,  80, 132,  700,  70, 200, 2022,
     "NVIDIA H100 architecture white paper, 2022; bandwidth from the data sheet, 2023"),
CARD("rtx4090",       "NVIDIA GeForce RTX 4090",             82.6, 165.2,  1008,  24, 128,  450,  20, 150, 2022,
     "NVIDIA Ada GPU architecture white paper, 2022"),
CARD("l4",            "NVIDIA L4",                           30.3, 121.0,   300,  24,  58,   72,  13,  40, 2023,
     "NVIDIA L4 data sheet, 2023"),
CARD("l40s",          "NVIDIA L40S",                         91.6, 362.0,   864,  48, 142,  350,  35, 100, 2023,
     "NVIDIA L40S data sheet, 2023"),
CARD("mi300x",        "AMD Instinct MI300X",                163.4,1307.4,  5300, 192, 304,  750, 140, 250, 2023,
     "AMD Instinct MI300X data sheet, 2023"),
CARD("h200",          "NVIDIA H200 SXM 141 GB",              66.9, 989.4,  4800, 141, 132,  700,  76, 200, 2024,
     "NVIDIA H200 data sheet, 2024"),
CARD("b200",          "NVIDIA B200 SXM 180 GB",              75.0,2250.0,  7700, 180, 148, 1000, 140, 200, 2025,
     "NVIDIA HGX B200 data sheet, 2025: an eighth of the board"),
};
/* clang-format on */

#define CARD_COUNT (sizeof(cards) / sizeof(cards[0]))

/* What else the cards are called: by people, by schedulers, by the drivers' tools.  Only
 * names the reduction below does not already make equal to the key or the title.  A
 * bare "v100" is the PCIe card of the early clusters; a bare "a100" or "h100" the
 * socketed one that most clusters hold. */
static const struct {
    const char *alias;
    const char *name; /* key of a card */
} aliases[] = {
    {"p100", "p100-16"},
    {"p100-pcie", "p100-16"},
    {"p100-pcie-16gb", "p100-16"},
    {"v100", "v100-16"},
    {"v100-pcie", "v100-16"},
    {"v100-pcie-16gb", "v100-16"},
    {"v100-16gb", "v100-16"},
    {"v100-sxm2", "v100-sxm2-16"},
    {"v100-sxm2-16gb", "v100-sxm2-16"},
    {"v100-32gb", "v100-32"},
    {"v100-pcie-32gb", "v100-32"},
    {"v100-sxm2-32gb", "v100-sxm2-32"},
    {"2080ti", "rtx2080ti"},
    {"rtx-6000-turing", "rtx6000"},
    {"a100", "a100-40"},
    {"a100-sxm4", "a100-40"},
    {"a100-40gb", "a100-40"},
    {"a100-sxm4-40gb", "a100-40"},
    {"a100-sxm-40gb", "a100-40"},
    {"a100-pcie", "a100-pcie-40"},
    {"a100-pcie-40gb", "a100-pcie-40"},
    {"a100-80gb", "a100-80"},
    {"a100-sxm4-80gb", "a100-80"},
    {"a100-sxm-80gb", "a100-80"},
    {"a100-pcie-80gb", "a100-pcie-80"},
    {"a100 80gb pcie", "a100-pcie-80"},
    {"3090", "rtx3090"},
    {"4090", "rtx4090"},
    {"h100", "h100-sxm"},
    {"h100-sxm5", "h100-sxm"},
    {"h100-80gb", "h100-sxm"},
    {"h100 80gb hbm3", "h100-sxm"},
    {"h100-sxm5-80gb", "h100-sxm"},
    {"h100-pcie-80gb", "h100-pcie"},
    {"h200-sxm", "h200"},
    {"h200-141gb", "h200"},
    {"b200-sxm", "b200"},
    {"b200-180gb", "b200"},
    {"mi250x-gcd", "mi250x"},
    {"mi300x-oam", "mi300x"},
    {"mi250x / mi250x", "mi250x"},
};

#define REDUCED_SIZE 64

const struct gpu_sheet *gpu_catalogue(size_t *count)
{
    *count = CARD_COUNT;
    return cards;
}

/* Makers and brands say nothing that the rest of a product name does not. */
static bool is_brand(const char *word, size_t length)
{
    static const char *const brands[] = {"nvidia",  "tesla", "quadro",
                                         "geforce", "amd",   "instinct"};

    for (size_t i = 0; i < sizeof(brands) / sizeof(brands[0]); i++)
        if (strlen(brands[i]) == length && !strncmp(word, brands[i], length))
            return true;
    return false;
}

/* "Tesla V100-SXM2-16GB" -> "v100sxm216gb": lower case, no brands, letters and digits
 * only.  A name that does not fit reduces to nothing, which matches nothing. */
static void reduce(const char *name, char reduced[REDUCED_SIZE])
{
    size_t used = 0;

    while (*name) {
        size_t start = used;

        for (; isalnum((unsigned char)*name); name++) {
            if (used + 1 == REDUCED_SIZE) {
                reduced[0] = '\0';
                return;
            }
            reduced[used++] = (char)tolower((unsigned char)*name);
        }
        if (is_brand(reduced + start, used - start))
            used = start;
        while (*name && !isalnum((unsigned char)*name))
            name++;
    }
    reduced[used] = '\0';
}

static bool reduces_to(const char *name, const char *reduced)
{
    char other[REDUCED_SIZE];

    reduce(name, other);
    return other[0] && !strcmp(other, reduced);
}

bool gpu_named(const struct gpu_sheet *sheet, const char *name)
{
    char reduced[REDUCED_SIZE];

    if (!strcasecmp(sheet->name, name))
        return true; /* even if it is nothing but brands, or too long to reduce */
    reduce(name, reduced);
    if (reduces_to(sheet->name, reduced) || reduces_to(sheet->title, reduced))
        return true;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (!strcmp(aliases[i].name, sheet->name) &&
            reduces_to(aliases[i].alias, reduced))
            return true;
    return false;
}

const struct gpu_sheet *gpu_find(const char *name)
{
    for (size_t i = 0; i < CARD_COUNT; i++)
        if (gpu_named(&cards[i], name))
            return &cards[i];
    return NULL;
}
