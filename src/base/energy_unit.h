/* energy_unit.h - in what unit people read an energy: J, Wh or kWh, by its size */
#pragma once

struct energy_unit {
    const char *name;
    double joules; /* one of it */
};

struct energy_unit energy_unit_of(double joules);
