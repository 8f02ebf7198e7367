/* test.h - what every cmocka test needs
 *
 *     #include "support/test.h"
 *
 *     CASE(a_sentence_about_the_behaviour)
 *     {
 *         assert_true(...);
 *     }
 */
#ifndef CORGI_TESTS_SUPPORT_TEST_H
#define CORGI_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define CASE(name) static void name(__attribute__((unused)) void **state)

#endif
