/* normal.h - the standard normal distribution */
#pragma once

/* Half the width of a 90 % interval in standard deviations. */
#define NORMAL_90 1.6448536269514722

/* The same to four digits.  The intervals of the learned model, of its calibration and of
 * the energy books were tuned and measured with this value. */
#define NORMAL_90_SHORT 1.645

/* The point that a standard normal stays below with this probability, 0 < probability <
 * 1; right to about 1e-7. */
double normal_quantile(double probability);
