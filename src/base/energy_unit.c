/* energy_unit.c - the command line and reports ask before they print an energy */
#include "base/energy_unit.h"

#include <math.h>

#define JOULES_A_WH  3600.0
#define JOULES_A_KWH 3.6e6

struct energy_unit energy_unit_of(double joules)
{
    if (fabs(joules) < JOULES_A_WH)
        return (struct energy_unit){"J", 1};
    if (fabs(joules) < JOULES_A_KWH)
        return (struct energy_unit){"Wh", JOULES_A_WH};
    return (struct energy_unit){"kWh", JOULES_A_KWH};
}
