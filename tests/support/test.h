/* test.h - what every cmocka test needs
 *
 *     #include "support/test.h"
 *
 *     CASE(a_sentence_about_the_behaviour)
 *     {
 *         assert_true(...);
 *     }
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define CASE(name) static void name(__attribute__((unused)) void **state)
