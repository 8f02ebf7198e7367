/* real.h - the number type of the networks
 *
 * The product computes in float.  The same sources built with NN_DOUBLE compute in
 * double, which is how gradients are checked against finite differences; that build is a
 * library of its own (corgi_nn_double) and only tests link it. */
#ifndef CORGI_NN_REAL_H
#define CORGI_NN_REAL_H

#ifdef NN_DOUBLE
typedef double nn_real;
/* Objects of the two builds must not meet: the linker says so. */
#define tape_create   tape_create_double
#define params_create params_create_double
#define nn_exp        __builtin_exp
#define nn_fabs       __builtin_fabs
#define nn_sqrt       __builtin_sqrt
#else
typedef float nn_real;
#define nn_exp  __builtin_expf
#define nn_fabs __builtin_fabsf
#define nn_sqrt __builtin_sqrtf
#endif

#endif
